import type { PeerRule } from "#peer/plan.ts";
import { wait } from "#runtime/decide.ts";

/** An intended member: nothing of it is started before etcd has added it, or it would be refused and come back ever more slowly. */
export const awaitMembership: PeerRule = {
  name: "await-membership",
  decide({ peer }) {
    if (peer.spec.bootstrap?.initialClusterState !== "Existing" || peer.spec.memberID !== undefined) return undefined;
    return wait("await-membership", "etcd has not added the member yet", 30_000);
  },
};
