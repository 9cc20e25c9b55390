import { isWaking, lostAsleepText, sleepText, wakingText } from "#cluster/lifecycle/sleep.ts";
import { sick as sickMembers } from "#cluster/members/members.ts";
import { neverReplacedText } from "#cluster/members/patience.ts";
import { isForming } from "#cluster/snapshot.ts";
import { type Case, sickText, type Verdict } from "./verdict.ts";

/** Condition Degraded: whether the cluster runs with less than the spec asks for. */
export function degraded({ snapshot, own }: Pick<Case, "snapshot" | "own">): Verdict {
  const sick = own.filter(({ health }) => health !== "Healthy");
  const asleep = sleepText(snapshot);
  if (asleep !== undefined) {
    const lost = lostAsleepText(snapshot);
    return lost === undefined
      ? { status: "False", reason: "Asleep", message: asleep }
      : { status: "True", reason: "ClaimLost", message: lost };
  }
  if (isForming(snapshot)) return { status: "False", reason: "Forming", message: "the cluster is being created" };
  if (isWaking(snapshot)) return { status: "False", reason: "Waking", message: wakingText(snapshot) };
  const voters = own.filter(({ role }) => role !== "Learner").length;
  const { replicas } = snapshot.cluster.spec;
  if (sick.length === 0 && voters < replicas)
    return { status: "True", reason: "MembersMissing", message: `${voters} of ${replicas} wanted members have a vote` };
  if (sick.length === 0)
    return { status: "False", reason: "FullStrength", message: `all ${own.length} members are healthy` };
  return {
    status: "True",
    reason: "MembersUnhealthy",
    message: `${sickText(sick)}${neverReplacedText(snapshot, sickMembers(snapshot))}`,
  };
}
