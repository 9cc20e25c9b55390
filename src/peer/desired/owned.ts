import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { apiVersionOf, type OwnerReference } from "#kube/kinds.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";

/** The reference by which the garbage collector deletes the object with its EtcdPeer. Claims never carry it. */
export function ownedBy({ peer }: PeerSnapshot): OwnerReference {
  const { name, uid } = peer.metadata;
  return {
    apiVersion: apiVersionOf(ETCD_PEERS),
    kind: ETCD_PEERS.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
