import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Nothing of an intended member is started before etcd has added it: it would be refused and come back ever more slowly. Nor is a
 * member started that no cluster has made: nobody would take the means to bootstrap away from it once it has data.
 */
export const awaitMembership: PeerRule = {
  name: "await-membership",
  decide({ peer }) {
    if (peer.spec.clusterID === undefined) {
      const because = "no EtcdCluster has made it; create one, which makes EtcdPeers of its own";
      return wait("await-membership", because, 30_000, { warn: true });
    }
    if (peer.spec.bootstrap?.initialClusterState !== "Existing" || peer.spec.memberID !== undefined) return undefined;
    return wait("await-membership", "etcd has not added the member yet", 30_000);
  },
};
