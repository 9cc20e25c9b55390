import { draftText, withHash } from "#api/applied-hash.ts";
import { claimLabels, memberLabels, REVISION_ANNOTATION } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { type Draft, ownerReference, type ReplicaSet } from "#kube/kinds.ts";
import { podTemplate } from "#peer/desired/pod.ts";
import { capacityOf, type PeerSnapshot } from "#peer/snapshot.ts";

// Why a ReplicaSet of one, and not a StatefulSet or a bare pod?
//   Its template can change without touching the running pod. "What the next pod must look like" and "restart this member
//   now" are two separate steps, each with its own guards.

/** Keeps one pod of the member running, or none while its cluster sleeps. */
export function replicaSet(snapshot: PeerSnapshot): Draft<ReplicaSet> {
  const { namespace, name } = snapshot.peer.metadata;
  const { clusterName } = snapshot.peer.spec;
  return withHash<ReplicaSet>({
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      namespace,
      name,
      labels: memberLabels(clusterName, name),
      annotations: { [REVISION_ANNOTATION]: revisionOf(snapshot.peer.spec) },
      // Claims have no such reference: they outlive the EtcdPeer.
      ownerReferences: [ownerReference(ETCD_PEERS, snapshot.peer)],
    },
    spec: {
      replicas: snapshot.isAsleep ? 0 : 1,
      selector: { matchLabels: { ...claimLabels(clusterName, name) } },
      template: podTemplate(snapshot),
    },
  });
}

interface CachedText {
  readonly isAsleep: boolean;
  readonly imageRepository: string;
  readonly capacity: string | undefined;
  /** The `draftText` of the draft. */
  readonly text: string;
}

/** Cached texts by EtcdPeer object: a changed EtcdPeer is another object. */
const cachedTexts = new WeakMap<EtcdPeer, CachedText>();

/**
 * The `draftText` of `replicaSet(snapshot)`, cached while the EtcdPeer and the other inputs stay the same: building the
 * draft is expensive.
 */
export function replicaSetText(snapshot: PeerSnapshot): string {
  const { peer, isAsleep, imageRepository } = snapshot;
  const capacity = capacityOf(snapshot);
  const before = cachedTexts.get(peer);
  const isSame = before?.isAsleep === isAsleep && before.imageRepository === imageRepository;
  if (isSame && before.capacity === capacity) return before.text;
  const text = draftText(replicaSet(snapshot));
  cachedTexts.set(peer, { isAsleep, imageRepository, capacity, text });
  return text;
}
