import { RESTORED_FROM } from "#api/names.ts";
import { askedIn } from "#api/revision.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { apiVersionOf, type Draft, type PersistentVolumeClaim } from "#kube/kinds.ts";
import { podTemplate } from "#peer/desired/pod.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";
import { type PeerSnapshot, unseenPeer } from "#peer/snapshot.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

/** The pod that the member will have. The pod that fills its claim must be able to run on the same nodes. */
export function memberPod(snapshot: RestoreSnapshot, name: string): ReturnType<typeof podTemplate> {
  return podTemplate(asPeer(snapshot, name));
}

/**
 * The claim of a member, created by this restore. It has no identity annotations yet, so no cluster adopts it while it
 * is being filled.
 */
export function restoredClaim(snapshot: RestoreSnapshot, name: string): Draft<PersistentVolumeClaim> {
  const claim = volumeClaim(asPeer(snapshot, name));
  const labels = { ...claim.metadata.labels, [RESTORED_FROM]: snapshot.restore.metadata.uid };
  return { ...claim, metadata: { ...claim.metadata, labels } };
}

/** The member as the controller `peer` will see it; only its spec is known so far. */
function asPeer({ restore, takenAtMs, imageRepository }: RestoreSnapshot, name: string): PeerSnapshot {
  const { clusterName, spec } = restore.spec.clusterTemplate;
  const peer: EtcdPeer = {
    apiVersion: apiVersionOf(ETCD_PEERS),
    kind: ETCD_PEERS.kind,
    metadata: { ...restore.metadata, name },
    spec: { clusterName, ...askedIn(spec, undefined), storage: spec.storage },
  };
  return unseenPeer({ takenAtMs, peer, imageRepository });
}
