import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { type KnownMember, ownVoters } from "./members.ts";

// When a member is replaced: only with several signs, and never for time without observations.
// - It does not answer the operator, while the others could be asked for the member list.
// - Its pod is not Ready, so no linearizable read succeeded.
// - At last, the leader is asked whether raft traffic arrives from it.

/**
 * How long to wait when the data is certainly lost or wrong, in milliseconds. Waiting longer does not bring it back.
 * Not waiting would act on a claim that a person is just replacing.
 */
const GONE_AFTER_MS = 10_000;

/** How long a voter may be lost before it is given up, in milliseconds. */
function patienceMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return isDataGone(member) ? Math.min(GONE_AFTER_MS, snapshot.replaceAfterMs) : snapshot.replaceAfterMs;
}

/** Whether the spec forbids to replace the member. */
export function isNeverReplaced(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return patienceMs(snapshot, member) === Number.POSITIVE_INFINITY;
}

/** A clause that names members that are never replaced; "" when all are, sooner or later. */
export function neverReplacedText(snapshot: ClusterSnapshot, members: readonly KnownMember[]): string {
  const names = members
    .filter((member) => !member.isLearner && isNeverReplaced(snapshot, member))
    .map(({ name }) => name);
  if (names.length === 0) return "";
  return `; ${names.join(", ")} ${names.length === 1 ? "is" : "are"} not replaced, because spec.replacement.policy is Never`;
}

/** Managed voters that have been lost for longer than `spec.replacement.after`, the longest first. */
export function votersToReplace(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return (
    ownVoters(snapshot)
      .filter((member) => !member.participatesInQuorum && !member.isVouchedFor)
      // A member without counted time, such as one that is starting, was never observed to be lost.
      .filter((member) => member.history.lostForMs > 0 && member.history.lostForMs >= patienceMs(snapshot, member))
      .sort((a, b) => b.history.lostForMs - a.history.lostForMs)
  );
}

/**
 * Whether the data is wrong or gone. The cache may lack an existing claim. Then `isVouchedFor` protects the member that
 * runs on it.
 */
function isDataGone({ data }: KnownMember): boolean {
  return data.fault !== "none" || data.isLost;
}
