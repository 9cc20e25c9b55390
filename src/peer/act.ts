import { QUARANTINE_LABEL, QUARANTINE_REASON_ANNOTATION, QUARANTINE_TIME_ANNOTATION } from "#api/names.ts";
import { isAsleep } from "#api/sleep.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import type { OperatorError } from "#base/error.ts";
import type { KubeClient } from "#kube/client.ts";
import { PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim, PODS, type Pod, REPLICA_SETS } from "#kube/kinds.ts";
import { liveAt, liveOf } from "#kube/live.ts";
import { notSeenYet, outOfDate } from "#kube/out-of-date.ts";
import { replacing } from "#kube/replacing.ts";
import { type PeerSnapshot, pauseOf } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";
import type { Written } from "#runtime/controller.ts";
import { deleteClaim, patchFinalizers, patchMetadata, stored } from "#runtime/writes.ts";

/** The requests that this controller sends to the API server. */
export type PeerWrites = Pick<KubeClient, "get" | "create" | "replace" | "patch" | "delete">;

/** Does one step: exactly one write, with its precondition. */
export async function actOnPeer(
  kube: PeerWrites,
  step: PeerStep,
  snapshot: PeerSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  switch (step.do) {
    case "createClaim":
      await requirePeerUnchanged(kube, snapshot, signal);
      // POST instead of apply: a claim that was created in between holds data and must not be changed.
      return stored(PERSISTENT_VOLUME_CLAIMS, await kube.create(PERSISTENT_VOLUME_CLAIMS, step.claim, { signal }));
    case "deleteClaim":
      await requireDeletionWanted(kube, snapshot, signal);
      return await deleteClaim(kube, step.claim, signal);
    case "quarantineClaim":
      return await quarantine(kube, step, signal);
    case "labelClaim":
      return await patchMetadata(kube, PERSISTENT_VOLUME_CLAIMS, step.claim, { labels: step.labels }, signal);
    case "annotateClaim":
      return await patchMetadata(kube, PERSISTENT_VOLUME_CLAIMS, step.claim, { annotations: step.annotations }, signal);
    case "releasePeer":
      return await releasePeer(kube, snapshot.peer, step.finalizer, signal);
    case "annotatePod":
      return await annotatePod(kube, step.pod, step.annotations, signal);
    case "createReplicaSet":
      await requirePeerUnchanged(kube, snapshot, signal);
      return stored(REPLICA_SETS, await kube.create(REPLICA_SETS, step.replicaSet, { signal }));
    case "replaceReplicaSet":
      await requireAsleep(kube, snapshot, step, signal);
      return stored(REPLICA_SETS, await kube.replace(REPLICA_SETS, replacing(step.live, step.replicaSet), { signal }));
  }
}

/** Age in milliseconds up to which a peer is taken as new: its objects are created for the first time. */
const YOUNG_MS = 30_000;

/**
 * Checks at the API server that the peer exists unchanged, because a create has no precondition against a stale cache.
 * A ReplicaSet for a deleted peer would start its member again until it is garbage collected, and a claim would stay
 * for ever. Skipped for a new peer, to save the request.
 */
async function requirePeerUnchanged(
  kube: PeerWrites,
  { peer, takenAtMs }: PeerSnapshot,
  signal: AbortSignal,
): Promise<void> {
  const { name, generation, creationTimestamp } = peer.metadata;
  const ageMs = takenAtMs - Date.parse(creationTimestamp ?? "");
  if (ageMs >= -YOUNG_MS && ageMs < YOUNG_MS) return;
  const live = await liveOf(kube, ETCD_PEERS, peer, signal);
  // Compared by generation: spec.bootstrap decides whether the pod may bootstrap. A member that has joined must not.
  if (live !== undefined && live.metadata.generation === generation) return;
  throw outOfDate(ETCD_PEERS, peer.metadata, `EtcdPeer ${name} has changed or does not exist`);
}

/**
 * Checks at the API server, before the claim is deleted, that the EtcdPeer still asks for it and that the cluster is
 * not paused.
 */
async function requireDeletionWanted(kube: PeerWrites, { peer }: PeerSnapshot, signal: AbortSignal): Promise<void> {
  const { metadata } = peer;
  const live = await liveOf(kube, ETCD_PEERS, peer, signal);
  if (live?.metadata.resourceVersion !== metadata.resourceVersion)
    throw outOfDate(ETCD_PEERS, metadata, `EtcdPeer ${metadata.name} has changed or does not exist`);
  requireNotPaused(peer, await clusterOf(kube, peer, signal));
}

/**
 * Checks at the API server, before a member is stopped, that the cluster still sleeps and is not paused. The
 * resourceVersion of the ReplicaSet does not cover the EtcdCluster. Costs one request for each member that is stopped.
 */
async function requireAsleep(
  kube: PeerWrites,
  { peer }: PeerSnapshot,
  { live, replicaSet }: Pick<Extract<PeerStep, { do: "replaceReplicaSet" }>, "live" | "replicaSet">,
  signal: AbortSignal,
): Promise<void> {
  if (replicaSet.spec?.replicas !== 0 || live.spec?.replicas === 0) return;
  const cluster = await clusterOf(kube, peer, signal);
  if (cluster === undefined || !isAsleep(cluster)) throw staleCluster(peer, "does not sleep");
  requireNotPaused(peer, cluster);
}

function requireNotPaused(peer: EtcdPeer, cluster: EtcdCluster | undefined): void {
  const by = pauseOf(cluster);
  if (by !== undefined) throw staleCluster(peer, `is paused: ${by}`);
}

async function clusterOf(kube: PeerWrites, { metadata, spec }: EtcdPeer, signal: AbortSignal) {
  return await liveAt(kube, ETCD_CLUSTERS, { namespace: metadata.namespace, name: spec.clusterName }, signal);
}

/** The error that the cached EtcdCluster is stale. @param is clause about the live one */
function staleCluster({ spec }: EtcdPeer, is: string): OperatorError {
  return notSeenYet(`EtcdCluster ${spec.clusterName} ${is}`);
}

async function quarantine(
  kube: PeerWrites,
  { claim, reason, at }: { claim: PersistentVolumeClaim; reason: string; at: string },
  signal: AbortSignal,
): Promise<Written> {
  const annotations = { [QUARANTINE_REASON_ANNOTATION]: reason, [QUARANTINE_TIME_ANNOTATION]: at };
  const metadata = { labels: { [QUARANTINE_LABEL]: "true" }, annotations };
  return await patchMetadata(kube, PERSISTENT_VOLUME_CLAIMS, claim, metadata, signal);
}

/** Patches the pod with the uid that was read: a later pod gets its annotations from the template. */
async function annotatePod(
  kube: PeerWrites,
  { metadata }: Pod,
  annotations: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid } = metadata;
  const options = { signal, type: "merge" as const, preconditions: { uid } };
  return stored(PODS, await kube.patch(PODS, { namespace, name }, { metadata: { annotations } }, options));
}

/**
 * Removes the operator's finalizer, with which Kubernetes deletes the peer. The response is the peer before its
 * deletion.
 */
async function releasePeer(kube: PeerWrites, peer: EtcdPeer, finalizer: string, signal: AbortSignal): Promise<Written> {
  const others = (peer.metadata.finalizers ?? []).filter((each) => each !== finalizer);
  await patchFinalizers(kube, ETCD_PEERS, peer, others, signal);
  return { kind: "external" };
}
