import { hindranceOf } from "#access/place.ts";
import type { RoleRule } from "#role/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck in milliseconds, for a lost event: normally a change of the EtcdCluster triggers this controller. */
const RECHECK_MS = 60_000;

/** Waits while the EtcdCluster does not exist, has not formed, sleeps, is paused or is being deleted. */
export const awaitCluster: RoleRule = {
  name: "await-cluster",
  decide({ role, cluster }) {
    const hindrance = hindranceOf(role.spec.clusterRef.name, cluster);
    return hindrance && wait("await-cluster", hindrance.because, RECHECK_MS);
  },
};
