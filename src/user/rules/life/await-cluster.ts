import { hindranceOf } from "#access/place.ts";
import { wait } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** News of the cluster wakes this room; this is for events that never come, in milliseconds. */
const RECHECK_MS = 60_000;

/** Nothing is done while the EtcdCluster is not there, has not formed, sleeps, is being deleted or is paused. */
export const awaitCluster: UserRule = {
  name: "await-cluster",
  decide({ user, cluster }) {
    const hindrance = hindranceOf(user.spec.clusterName, cluster);
    return hindrance && wait("await-cluster", hindrance.because, RECHECK_MS);
  },
};
