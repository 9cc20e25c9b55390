import type { ClusterRule } from "#cluster/plan.ts";
import { knownMembers } from "#cluster/snapshot.ts";
import { wait } from "#runtime/decide.ts";

const RECHECK_MS = 10_000;

/** The number of members cannot be changed yet; a change is refused aloud, not ignored. */
export const refuseScaling: ClusterRule = {
  name: "refuse-scaling",
  decide(snapshot) {
    const voters = knownMembers(snapshot).filter((member) => !member.isLearner).length;
    const { replicas } = snapshot.cluster.spec;
    if (voters === replicas) return undefined;
    const because = `spec.replicas is ${replicas}, but the cluster has ${voters} members and this version of the operator does not change their number; set it back to ${voters}`;
    return wait("refuse-scaling", because, RECHECK_MS, { warn: true });
  },
};
