import { severalBudgetsText } from "#cluster/exposure/several-budgets.ts";
import { heldByPause } from "#cluster/lifecycle/held-by-pause.ts";
import { isWaking, sleepText, tiredText, wakingText } from "#cluster/lifecycle/sleep.ts";
import { clientAddress, isCalledReady } from "#cluster/observe/client-address.ts";
import { takenText } from "#cluster/owned.ts";
import { type ClusterSnapshot, identityOf, isForming, isOwned } from "#cluster/snapshot.ts";
import { podTrouble } from "#cluster/update/fitness.ts";
import { awaitedText, isRolling, updateStatus, waitingForDeletion } from "#cluster/update/update-status.ts";
import { graveText } from "#cluster-tls/check/late.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { isReady } from "#kube/pod.ts";
import { available } from "./available.ts";
import { changeReason, isChanging } from "./change.ts";
import { blocked, missing } from "./hindrance.ts";
import { unfulfilled } from "./unfulfilled.ts";
import { type Case, sickText, type Verdict } from "./verdict.ts";

/**
 * Condition Ready: whether everything in the spec exists and is healthy, so that clients of the client Service are
 * served.
 */
export function ready(input: Case): Verdict {
  const { snapshot, own } = input;
  const { replicas } = snapshot.cluster.spec;
  const no = (reason: Verdict["reason"], message: string): Verdict => ({ status: "False", reason, message });
  if (snapshot.cluster.metadata.deletionTimestamp !== undefined) return no("Deleting", "the cluster is being deleted");
  const asleep = sleepText(snapshot);
  if (asleep !== undefined) return no("Asleep", asleep);
  const hindrance = blocked(input) ?? missing(input);
  const voters = own.filter(({ role }) => role !== "Learner");
  const healthy = voters.filter(({ health }) => health === "Healthy").length;
  if (isForming(snapshot)) {
    if (hindrance !== undefined) return no(hindrance.reason, hindrance.message);
    if (input.plan.next === "wait" && input.plan.rule === "await-restore") return no("Restoring", input.plan.because);
    return no("Forming", formingText(snapshot, healthy));
  }
  const service = available(input);
  // It may be what holds back the pods that would restore the quorum: it comes first.
  if (service.reason === "QuorumLost" && hindrance !== undefined)
    return no("QuorumLost", `${hindrance.message}; ${service.message}`);
  if (service.status !== "True") return no(service.reason, service.message);
  if (hindrance !== undefined) return no(hindrance.reason, hindrance.message);
  const tired = tiredText(snapshot);
  if (tired !== undefined) return no("FallingAsleep", tired);
  if (isWaking(snapshot)) return no("Waking", wakingText(snapshot));
  if (isRolling(snapshot)) return no(changeReason(snapshot), updateText(snapshot));
  if (isChanging(snapshot)) return no(changeReason(snapshot), `${healthy} healthy voters, ${replicas} wanted`);
  const sick = own.filter(({ health }) => health !== "Healthy");
  if (sick.length > 0) return no("MembersUnhealthy", sickText(sick));
  const unready = voters.map(({ name }) => name).filter((name) => !isServed(input, name));
  if (unready.length > 0)
    return no(
      "PodsNotReady",
      `the client Service does not lead to ${unready.join(", ")} yet: not Ready according to the kubelet${unready.map((name) => podTrouble(snapshot, name)).join("")}`,
    );
  const { clientService: address, throughService } = snapshot;
  if (address === undefined) return no("StepRefused", "the client Service does not exist");
  if (!isOwned(snapshot, address)) return no("NameTaken", takenText(address));
  if (throughService?.is === "unknown")
    return no("ClientServiceSilent", `no member answers through the client Service yet: ${throughService.why}`);
  if (throughService === undefined && !isCalledReady(snapshot) && clientAddress(snapshot) !== undefined)
    return no("ClientServiceSilent", "the client Service has not been tested yet");
  const held = heldByPause(input);
  if (held !== undefined) return held;
  const pending = unfulfilled(input);
  if (pending !== undefined) return no(pending.reason, pending.message);
  const late = graveText(effectiveTls(snapshot));
  if (late !== undefined) return no("CertificateEnding", late);
  const even =
    replicas % 2 === 0 ? `; ${replicas} tolerate no more failures than ${replicas - 1}: an odd number is better` : "";
  const drained = snapshot.cluster.spec.disruptionBudget.policy === "None" ? "" : (DRAINED[replicas] ?? "");
  const awaited = waitingForDeletion(snapshot);
  const budgets = severalBudgetsText(snapshot);
  return {
    status: "True",
    reason: "AllMembersHealthy",
    message: `${healthy} of ${replicas} members are healthy voters${even}${drained}${awaited.length === 0 ? "" : `; ${awaitedText(awaited)}`}${budgets === undefined ? "" : `; ${budgets}`}`,
  };
}

/**
 * The effect of a drain on clusters that are too small to spare a member, by `spec.replicas`
 * (desired/disruption-budget.ts).
 */
const DRAINED: Readonly<Record<number, string>> = {
  1: "; drains may evict the only member: clients wait until it has started again",
  2: "; drains may evict one member at a time: clients wait until it has started again",
};

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
  const trouble = update?.waitingFor === undefined ? "" : podTrouble(snapshot, update.waitingFor);
  return `${update?.updated.length ?? 0} of ${snapshot.cluster.spec.replicas} members run what the spec asks for, etcd ${update?.to}${trouble}`;
}
