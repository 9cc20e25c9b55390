import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { noSpaceText } from "#cluster/rules/alarms/no-space.ts";
import { isWaking, sleepText } from "#cluster/sleep.ts";
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

/** Do linearizable reads and writes succeed? */
export function available({ snapshot, members, own }: Pick<Case, "snapshot" | "members" | "own">): Verdict {
  const voters = members.filter((member) => !member.learner);
  const missing = voters.filter((member) => !member.healthy);
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
  // The record may be older than a removal that was about to be made; a pod is ready only while its member has a quorum.
  const mayHaveLeft = voters.filter(
    ({ name }) => peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined,
  ).length;
  // Voters of somebody else have no pods here, and may be what makes the quorum of those that are ready.
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
    message: `${needed} of ${voters.length} voters are needed; missing: ${names}${ofOldClaims(snapshot)}`,
  };
}

/** A cluster that was made again knows only of members whose claims were kept: others may be what is missing. */
function ofOldClaims(snapshot: ClusterSnapshot): string {
  const identity = identityOf(snapshot);
  if (identity === undefined || identity.token.endsWith(`/${snapshot.cluster.metadata.uid}`)) return "";
  const names = identity.initialMembers.map(({ name }) => name).join(", ");
  return `; the cluster was made again from the claims of ${names}: if it had more members, theirs have to come back too`;
}
