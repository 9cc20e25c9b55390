import { hindranceOf } from "#access/place.ts";
import { wait } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** Recheck in milliseconds, for a lost event: normally a change of the EtcdCluster triggers this controller. */
const RECHECK_MS = 60_000;

/** Waits while the EtcdCluster does not exist, has not formed, sleeps, is paused or is being deleted. */
export const awaitCluster: UserRule = {
  name: "await-cluster",
  decide({ user, cluster }) {
    const hindrance = hindranceOf(user.spec.clusterRef.name, cluster);
    return hindrance && wait("await-cluster", hindrance.because, RECHECK_MS);
  },
};
