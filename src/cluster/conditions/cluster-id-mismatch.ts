import { knownMembers } from "#cluster/members.ts";
import { healthOf } from "#cluster/snapshot.ts";
import type { Case, Verdict } from "./verdict.ts";

/** Does a member answer with the ID of another cluster? It is told while that lasts, and afterwards that it is over. */
export function clusterIdMismatch({ snapshot }: Pick<Case, "snapshot">): Verdict | undefined {
  const strangers = knownMembers(snapshot).flatMap(({ name, id }) => {
    const health = healthOf(snapshot, name, id);
    return health.is === "stranger" ? [`${name}: ${health.why}`] : [];
  });
  if (strangers.length > 0) return { status: "True", reason: "OtherClusterAnswered", message: strangers.join("; ") };
  const toldBefore =
    snapshot.cluster.status?.conditions?.some((condition) => condition.type === "ClusterIDMismatch") ?? false;
  return toldBefore
    ? { status: "False", reason: "SameCluster", message: "every member that answers has the recorded cluster ID" }
    : undefined;
}
