import { withHash } from "#api/applied-hash.ts";
import { memberLabels } from "#api/names.ts";
import type { ClusterIdentity } from "#api/v1alpha1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer, type EtcdPeerSpec } from "#api/v1alpha1/peer.ts";
import { ownedBy } from "#cluster/desired/owned.ts";
import { type ClusterSnapshot, hostOf } from "#cluster/snapshot.ts";
import { apiVersionOf, type Draft } from "#kube/kinds.ts";

/** A member of the frozen list that has not joined: all of them get the same list, so that they form one cluster. */
export function newPeer(snapshot: ClusterSnapshot, identity: ClusterIdentity, name: string): Draft<EtcdPeer> {
  const initialCluster = identity.initialMembers.map((member) => ({
    name: member.name,
    host: hostOf(snapshot, member.name),
  }));
  return peerFor(snapshot, identity, name, {
    bootstrap: { initialClusterState: "New", clusterToken: identity.token, static: { initialCluster } },
  });
}

/**
 * A member that has joined. It has no bootstrap section any more, so its pods get flags that can restart it but can never
 * bootstrap it: on an empty volume it stops at once instead of voting without remembering what it acknowledged.
 */
export function fencedPeer(snapshot: ClusterSnapshot, identity: ClusterIdentity, name: string): Draft<EtcdPeer> {
  return peerFor(snapshot, identity, name, {});
}

function peerFor(
  snapshot: ClusterSnapshot,
  identity: ClusterIdentity,
  name: string,
  start: Pick<EtcdPeerSpec, "bootstrap">,
): Draft<EtcdPeer> {
  const { cluster } = snapshot;
  const memberID = identity.initialMembers.find((member) => member.name === name)?.id;
  return withHash<EtcdPeer>({
    apiVersion: apiVersionOf(ETCD_PEERS),
    kind: ETCD_PEERS.kind,
    metadata: {
      namespace: cluster.metadata.namespace,
      name,
      labels: memberLabels(cluster.metadata.name, name),
      ownerReferences: [ownedBy(snapshot)],
    },
    spec: {
      clusterName: cluster.metadata.name,
      version: cluster.spec.version,
      ...start,
      clusterID: identity.clusterID,
      ...(memberID === undefined ? {} : { memberID }),
      storage: cluster.spec.storage,
      podTemplate: cluster.spec.podTemplate,
    },
  });
}
