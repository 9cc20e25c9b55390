import { isHealthy, knownMembers, sick, silentForMs } from "#cluster/members.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

const RECHECK_MS = 1_000;
/** Four times what etcd needs at the worst, as far as we know: then it is worth a word. */
const LATE_AFTER_MS = 30_000;

/**
 * A member is down while the others carry on; its pod is made again by its ReplicaSet, so there is only to wait. Likewise for one
 * that takes part, and does not serve clients yet.
 */
export const awaitHealth: ClusterRule = {
  name: "await-health",
  decide(snapshot) {
    const down = sick(snapshot).map(({ name }) => name);
    if (down.length > 0) return wait("await-health", `waiting for ${down.join(", ")} to be healthy again`, RECHECK_MS);
    const late = knownMembers(snapshot).filter((member) => !isHealthy(snapshot, member));
    if (late.length === 0) return undefined;
    const warn = late.some((member) => silentForMs(snapshot, member) > LATE_AFTER_MS);
    const names = late.map(({ name }) => name).join(", ");
    return wait("await-health", `waiting for ${names} to serve clients`, RECHECK_MS, { warn });
  },
};
