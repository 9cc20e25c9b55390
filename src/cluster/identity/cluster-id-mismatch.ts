import { knownMembers } from "#cluster/members/members.ts";
import type { Case, Verdict } from "#cluster/readiness/verdict.ts";

/** Condition ClusterIDMismatch: whether a member answers with another cluster ID. Absent until that has happened. */
export function clusterIdMismatch({ snapshot }: Pick<Case, "snapshot">): Verdict | undefined {
  const strangers = knownMembers(snapshot).flatMap(({ name, health }) =>
    health.is === "stranger" ? [`${name}: ${health.why}`] : [],
  );
  if (strangers.length > 0) return { status: "True", reason: "OtherClusterAnswered", message: strangers.join("; ") };
  const wasReported =
    snapshot.cluster.status?.conditions?.some((condition) => condition.type === "ClusterIDMismatch") ?? false;
  return wasReported
    ? { status: "False", reason: "SameCluster", message: "every member that answers has the recorded cluster ID" }
    : undefined;
}
