import type { ClusterRule } from "#cluster/plan.ts";
import { healthOf, knownMembers } from "#cluster/snapshot.ts";
import { wait } from "#runtime/decide.ts";

const RECHECK_MS = 1_000;

/** A member is down while the others carry on; its pod is made again by its ReplicaSet, so there is only to wait. */
export const awaitHealth: ClusterRule = {
  name: "await-health",
  decide(snapshot) {
    const sick = knownMembers(snapshot).filter((member) => healthOf(snapshot, member.name, member.id).is !== "healthy");
    if (sick.length === 0) return undefined;
    return wait(
      "await-health",
      `waiting for ${sick.map((member) => member.name).join(", ")} to be healthy again`,
      RECHECK_MS,
    );
  },
};
