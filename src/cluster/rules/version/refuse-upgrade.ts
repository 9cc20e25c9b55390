import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Often enough to see how a member fares that is sick meanwhile (health-log.ts). */
const RECHECK_MS = 5_000;

/** The version of members cannot be changed yet; a change is refused aloud, not ignored. */
export const refuseUpgrade: ClusterRule = {
  name: "refuse-upgrade",
  decide({ cluster, peers }) {
    const other = peers.find((peer) => peer.spec.version !== cluster.spec.version);
    if (other === undefined) return undefined;
    const because = `spec.version is ${cluster.spec.version}, but members run ${other.spec.version} and this version of the operator does not change it; set it back to ${other.spec.version}`;
    return wait("refuse-upgrade", because, RECHECK_MS, { warn: true });
  },
};
