import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { noSpaceText } from "#cluster/alarms/no-space.ts";
import { whyNotExtended } from "#cluster/identity/desired/identity.ts";
import { isWaking, sleepText } from "#cluster/lifecycle/sleep.ts";
import {
  type ClusterSnapshot,
  corruptMembers,
  fullMembers,
  identityOf,
  isDataDisputed,
  isForming,
  peerNamed,
} from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { isReady } from "#kube/pod.ts";
import type { Case, Verdict } from "./verdict.ts";

/** Condition Available: whether linearizable reads and writes succeed. */
export function available({ snapshot, members, own }: Pick<Case, "snapshot" | "members" | "own">): Verdict {
  const voters = members.filter(({ role }) => role !== "Learner");
  const missing = voters.filter(({ health }) => health !== "Healthy");
  const corrupt = corruptMembers(snapshot).map((id) => `for member ${id}`);
  if (isDataDisputed(snapshot)) corrupt.push("for no member in particular");
  if (snapshot.members.is === "present" && corrupt.length > 0) {
    const message = `the alarm CORRUPT is raised ${corrupt.join(" and ")}: etcd refuses every read and write`;
    return { status: "False", reason: "CorruptionAlarm", message };
  }
  const full = fullMembers(snapshot);
  if (snapshot.members.is === "present" && full.length > 0)
    return { status: "False", reason: "NoSpaceAlarm", message: noSpaceText(full) };
  if (snapshot.members.is === "present") {
    return {
      status: "True",
      reason: "QuorumAvailable",
      message: `${voters.length - missing.length} of ${voters.length} voters are healthy`,
    };
  }
  const asleep = sleepText(snapshot);
  if (asleep !== undefined) return { status: "False", reason: "Asleep", message: asleep };
  if (isForming(snapshot))
    return { status: "False", reason: "Forming", message: "no majority of the first members has joined yet" };
  const needed = quorumOf(voters.length);
  const readyPods = [...snapshot.pods.values()].filter(isReady).length;
  // The recorded members may be older than a removal; a pod is ready only while its member has a quorum.
  const mayHaveLeft = voters.filter(
    ({ name }) => peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined,
  ).length;
  // Voters that the operator did not add have no pods here, and may be the quorum with which the ready pods serve.
  const unasked = voters.filter((member) => !own.includes(member)).length;
  if (readyPods > 0 && readyPods + unasked >= quorumOf(voters.length - mayHaveLeft)) {
    const why = snapshot.members.is === "unknown" ? snapshot.members.why : "";
    return {
      status: "Unknown",
      reason: "MembersUnreachable",
      message: `${readyPods} pods are ready, but the operator cannot ask them: ${why}`,
    };
  }
  const names = missing.map((member) => `${member.name} (${member.message ?? "no answer"})`).join(", ");
  return {
    status: "False",
    reason: isWaking(snapshot) ? "Waking" : "QuorumLost",
    message:
      identityOf(snapshot)?.adopting === true
        ? `${adoptingText(snapshot)} Not healthy: ${names}`
        : `${needed} of ${voters.length} voters are needed; missing: ${names}${ofOldClaims(snapshot)}`,
  };
}

/**
 * The quorum of a cluster that came back from claims: how many voters etcd lists is unknown until the members have a
 * quorum.
 */
function adoptingText(snapshot: ClusterSnapshot): string {
  const names = (identityOf(snapshot)?.initialMembers ?? []).map(({ name }) => name).join(", ");
  const text = `The members that came back from claims (${names}) have no quorum, and only with a quorum does etcd report how many voters it has. If the cluster had more members, restore their claims: they are adopted as soon as they exist.`;
  return [text, ...whyNotExtended(snapshot)].join(" ");
}

/** A cluster that was created again knows only members with a kept claim: others may be missing. */
function ofOldClaims(snapshot: ClusterSnapshot): string {
  const identity = identityOf(snapshot);
  if (identity === undefined || identity.token.endsWith(`/${snapshot.cluster.metadata.uid}`)) return "";
  const names = identity.initialMembers.map(({ name }) => name).join(", ");
  return `; the cluster was created again from the claims of ${names}: if it had more members, restore their claims too`;
}
