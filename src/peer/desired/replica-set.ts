import { draftText, withHash } from "#api/applied-hash.ts";
import { memberLabels, REVISION_ANNOTATION } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { Draft, ReplicaSet } from "#kube/kinds.ts";
import { ownedBy } from "#peer/desired/owned.ts";
import { podTemplate } from "#peer/desired/pod.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";

// Why a ReplicaSet of one, and not a StatefulSet or a bare pod?
//   Its template can change without touching the running pod. "What the next pod must look like" and "restart this member
//   now" are two separate steps, each with its own guards.

/** Keeps one pod of the member running, or none while its cluster sleeps. */
export function replicaSet(snapshot: PeerSnapshot): Draft<ReplicaSet> {
  const { namespace, name } = snapshot.peer.metadata;
  const { clusterName } = snapshot.peer.spec;
  const labels = memberLabels(clusterName, name);
  return withHash<ReplicaSet>({
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      namespace,
      name,
      labels,
      annotations: { [REVISION_ANNOTATION]: revisionOf(snapshot.peer.spec) },
      ownerReferences: [ownedBy(snapshot)],
    },
    spec: {
      replicas: snapshot.isAsleep ? 0 : 1,
      selector: { matchLabels: { ...labels } },
      template: podTemplate(snapshot),
    },
  });
}

interface Known {
  readonly isAsleep: boolean;
  readonly imageRepository: string;
  /** What the draft asks for. */
  readonly text: string;
}

/** By the EtcdPeer as it was read: every change of it is another object. */
const known = new WeakMap<EtcdPeer, Known>();

/**
 * What `replicaSet` would ask for, in a few words, as `draftText` says them. A draft is long, and put together for nothing as long as the
 * EtcdPeer stays as it is: of one that has been made these words are remembered.
 */
export function replicaSetText(snapshot: PeerSnapshot): string {
  const { peer, isAsleep, imageRepository } = snapshot;
  const before = known.get(peer);
  if (before?.isAsleep === isAsleep && before.imageRepository === imageRepository) return before.text;
  const text = draftText(replicaSet(snapshot));
  known.set(peer, { isAsleep, imageRepository, text });
  return text;
}
