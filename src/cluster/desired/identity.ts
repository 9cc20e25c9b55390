import { clusterToken } from "#api/names.ts";
import type { ClusterIdentity } from "#api/v1alpha1/cluster.ts";
import { type ClusterSnapshot, initialPeerNames, urlOf } from "#cluster/snapshot.ts";
import { identityFor } from "#etcd/identity.ts";
import { hexOf } from "#etcd/types.ts";

// Why is the identity written to status before anything else?
//   After a total outage the member list cannot be read, exactly as before the first start. Without a note of our own the
//   two look alike, and bootstrapping again would fork the data.
// Why not look at the volumes? They may belong to a cluster that was deleted and made again under the same name.
// What if writing the note fails? Nothing exists yet; the next pass computes the same note and tries again.

/** Who the cluster is going to be: its first members, with the IDs that etcd will give them and the cluster. */
export function newIdentity(snapshot: ClusterSnapshot): ClusterIdentity {
  const { namespace, name, uid } = snapshot.cluster.metadata;
  const token = clusterToken(namespace, name, uid);
  const names = initialPeerNames(snapshot, snapshot.cluster.spec.replicas);
  const identity = identityFor({
    token,
    members: names.map((peer) => ({ name: peer, peerUrl: urlOf(snapshot, peer) })),
  });
  return {
    clusterID: hexOf(identity.clusterId),
    token,
    initialMembers: identity.members.map((member) => ({ name: member.name, id: hexOf(member.id), joined: false })),
  };
}
