import { sick } from "#cluster/members.ts";
import type { ClusterRule } from "#cluster/plan.ts";
import { wait } from "#runtime/decide.ts";

const RECHECK_MS = 1_000;

/** A member is down while the others carry on; its pod is made again by its ReplicaSet, so there is only to wait. */
export const awaitHealth: ClusterRule = {
  name: "await-health",
  decide(snapshot) {
    const names = sick(snapshot).map((member) => member.name);
    if (names.length === 0) return undefined;
    return wait("await-health", `waiting for ${names.join(", ")} to be healthy again`, RECHECK_MS);
  },
};
