import { clientAddress, isCalledReady } from "#cluster/client-address.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { isWaking, sleepText, tiredText, wakingText } from "#cluster/sleep.ts";
import { type ClusterSnapshot, identityOf, isForming, isOwned } from "#cluster/snapshot.ts";
import { awaitedText, isRolling, updateStatus, waitingForDeletion } from "#cluster/update-status.ts";
import { isReady } from "#kube/pod.ts";
import { available } from "./available.ts";
import { changeReason, isChanging } from "./change.ts";
import { heldByPause } from "./held-by-pause.ts";
import { blocked, missing } from "./hindrance.ts";
import { unfulfilled } from "./unfulfilled.ts";
import { type Case, sickText, type Verdict } from "./verdict.ts";

/** Is everything that the spec asks for there and healthy, so that a client that connects through the client Service is served? */
export function ready(given: Case): Verdict {
  const { snapshot, own } = given;
  const { replicas } = snapshot.cluster.spec;
  const no = (reason: Verdict["reason"], message: string): Verdict => ({ status: "False", reason, message });
  if (snapshot.cluster.metadata.deletionTimestamp !== undefined) return no("Deleting", "the cluster is being deleted");
  const asleep = sleepText(snapshot);
  if (asleep !== undefined) return no("Asleep", asleep);
  const hindrance = blocked(given) ?? missing(given);
  const voters = own.filter((member) => !member.learner);
  const healthy = voters.filter((member) => member.healthy).length;
  if (isForming(snapshot)) {
    if (hindrance !== undefined) return no(hindrance.reason, hindrance.message);
    if (given.plan.next === "wait" && given.plan.rule === "await-restore") return no("Restoring", given.plan.because);
    return no("Forming", formingText(snapshot, healthy));
  }
  const service = available(given);
  if (service.status !== "True") return no(service.reason, service.message);
  if (hindrance !== undefined) return no(hindrance.reason, hindrance.message);
  const tired = tiredText(snapshot);
  if (tired !== undefined) return no("FallingAsleep", tired);
  if (isWaking(snapshot)) return no("Waking", wakingText(snapshot));
  if (isRolling(snapshot)) return no(changeReason(snapshot), updateText(snapshot));
  if (isChanging(snapshot)) return no(changeReason(snapshot), `${healthy} healthy voters, ${replicas} wanted`);
  const sick = own.filter((member) => !member.healthy);
  if (sick.length > 0) return no("MembersUnhealthy", sickText(sick));
  const unready = voters.map(({ name }) => name).filter((name) => !isServed(given, name));
  if (unready.length > 0)
    return no(
      "PodsNotReady",
      `the client Service does not lead to ${unready.join(", ")} yet: not ready by the kubelet's word`,
    );
  const { clientService: address, throughService } = snapshot;
  if (address === undefined) return no("StepRefused", "the client Service is not there");
  if (!isOwned(snapshot, address)) return no("NameTaken", takenText(address));
  if (throughService?.is === "unknown")
    return no("ClientServiceSilent", `nobody answers through the client Service yet: ${throughService.why}`);
  if (throughService === undefined && !isCalledReady(snapshot) && clientAddress(snapshot) !== undefined)
    return no("ClientServiceSilent", "nobody has been asked through the client Service yet");
  const held = heldByPause(given);
  if (held !== undefined) return held;
  const pending = unfulfilled(given);
  if (pending !== undefined) return no(pending.reason, pending.message);
  const even =
    replicas % 2 === 0 ? `; ${replicas} tolerate no more failures than ${replicas - 1}: an odd number is better` : "";
  const awaited = waitingForDeletion(snapshot);
  return {
    status: "True",
    reason: "AllMembersHealthy",
    message: `${healthy} of ${replicas} members are healthy voters${even}${awaited.length === 0 ? "" : `; ${awaitedText(awaited)}`}`,
  };
}

function isServed({ snapshot }: Case, name: string): boolean {
  const pod = snapshot.pods.get(name);
  return pod !== undefined && isReady(pod);
}

function formingText(snapshot: ClusterSnapshot, healthy: number): string {
  const { replicas } = snapshot.cluster.spec;
  if (replicas > 0) return `${healthy} of ${replicas} members have joined`;
  const { length } = identityOf(snapshot)?.initialMembers ?? [];
  return `${healthy} of ${length} members have joined; spec.replicas is 0: they stop when a majority has`;
}

function updateText(snapshot: ClusterSnapshot): string {
  const update = updateStatus(snapshot);
  return `${update?.updated.length ?? 0} of ${snapshot.cluster.spec.replicas} members run what the spec asks for, etcd ${update?.to}`;
}
