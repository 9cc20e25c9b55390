import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Starts a member only after etcd has added it: otherwise it is refused and restarts with growing backoff. A peer
 * without a cluster ID was not created by an EtcdCluster and is not started: its means to bootstrap would never be
 * removed.
 */
export const awaitMembership: PeerRule = {
  name: "await-membership",
  decide({ peer }) {
    if (peer.spec.clusterID === undefined) {
      const because =
        "no EtcdCluster has created this EtcdPeer; create an EtcdCluster, which creates its EtcdPeers itself";
      return wait("await-membership", because, 30_000, { warn: true });
    }
    if (peer.spec.bootstrap?.initialClusterState !== "Existing" || peer.spec.memberID !== undefined) return undefined;
    return wait("await-membership", "etcd has not added the member yet", 30_000);
  },
};
