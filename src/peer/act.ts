import {
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_LABEL,
  QUARANTINE_REASON_ANNOTATION,
  QUARANTINE_TIME_ANNOTATION,
} from "#api/names.ts";
import { isAsleep } from "#api/sleep.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer, type EtcdPeerStatus } from "#api/v1beta1/peer.ts";
import type { OperatorError } from "#base/error.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  REPLICA_SETS,
  type Resource,
} from "#kube/kinds.ts";
import { liveAt, liveOf } from "#kube/live.ts";
import { notSeenYet, outOfDate } from "#kube/out-of-date.ts";
import { replacing } from "#kube/replacing.ts";
import { type PeerSnapshot, pauseOf } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";
import type { Written } from "#runtime/controller.ts";

/** What this room writes to. */
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
      await needPeer(kube, snapshot, signal);
      // A POST and not an apply: a claim that appeared meanwhile holds somebody's data and is not to be changed.
      return stored(PERSISTENT_VOLUME_CLAIMS, await kube.create(PERSISTENT_VOLUME_CLAIMS, step.claim, { signal }));
    case "deleteClaim":
      await needGoing(kube, snapshot, signal);
      return await deleteClaim(kube, step.claim, signal);
    case "quarantineClaim":
      return await quarantine(kube, step, signal);
    case "labelClaim":
      return await patchClaim(kube, step.claim, { labels: step.labels }, signal);
    case "annotateClaim": {
      const says = { [PEER_SCHEME_ANNOTATION]: step.scheme === "https" ? step.scheme : null };
      return await patchClaim(kube, step.claim, { annotations: says }, signal);
    }
    case "releasePeer":
      return await releasePeer(kube, snapshot.peer, step.finalizer, signal);
    case "annotatePod":
      return await annotatePod(kube, step.pod, step.annotations, signal);
    case "createReplicaSet":
      await needPeer(kube, snapshot, signal);
      return stored(REPLICA_SETS, await kube.create(REPLICA_SETS, step.replicaSet, { signal }));
    case "replaceReplicaSet":
      await needSleep(kube, snapshot, step, signal);
      return stored(REPLICA_SETS, await kube.replace(REPLICA_SETS, replacing(step.live, step.replicaSet), { signal }));
  }
}

/** Writes the status of the object as it was read: whoever changed it since makes this a conflict. */
export async function writeStatus(
  kube: PeerWrites,
  snapshot: Pick<PeerSnapshot, "peer">,
  status: EtcdPeerStatus,
  signal: AbortSignal,
): Promise<Written> {
  const peer: EtcdPeer = { ...snapshot.peer, status };
  return stored(ETCD_PEERS, await kube.replace(ETCD_PEERS, peer, { signal, subresource: "status" }));
}

/** A peer younger than this, in milliseconds, was made just now, and what belongs to it is made for the first time. */
const YOUNG_MS = 30_000;

/**
 * A create has no precondition that could tell that the cache is behind. What is made for a peer that is gone would start its
 * member again until the garbage collector takes it, and then anew; a claim would stay for ever. So the API server is asked
 * first, except for a young peer, which costs no request.
 */
async function needPeer(kube: PeerWrites, { peer, takenAtMs }: PeerSnapshot, signal: AbortSignal): Promise<void> {
  const { name, generation, creationTimestamp } = peer.metadata;
  const ageMs = takenAtMs - Date.parse(creationTimestamp ?? "");
  if (ageMs >= -YOUNG_MS && ageMs < YOUNG_MS) return;
  const live = await liveOf(kube, ETCD_PEERS, peer, signal);
  // By its generation, since whether it may form a cluster is told by its spec: who has joined is not told to begin anew.
  if (live !== undefined && live.metadata.generation === generation) return;
  throw outOfDate(ETCD_PEERS, peer.metadata, `EtcdPeer ${name} has changed, or is gone`);
}

/** What asks for the claim to be deleted is the EtcdPeer: whoever has just taken that back there, or paused the cluster, is heard. */
async function needGoing(kube: PeerWrites, { peer }: PeerSnapshot, signal: AbortSignal): Promise<void> {
  const { metadata } = peer;
  const live = await liveOf(kube, ETCD_PEERS, peer, signal);
  if (live?.metadata.resourceVersion !== metadata.resourceVersion)
    throw outOfDate(ETCD_PEERS, metadata, `EtcdPeer ${metadata.name} has changed, or is gone`);
  needUnpaused(peer, await clusterOf(kube, peer, signal));
}

/**
 * Nobody is stopped on the word of a cache: the ReplicaSet's resourceVersion does not tell that people have woken the cluster meanwhile, or paused it.
 * It costs one request for each member that falls asleep.
 */
async function needSleep(
  kube: PeerWrites,
  { peer }: PeerSnapshot,
  { live, replicaSet }: Pick<Extract<PeerStep, { do: "replaceReplicaSet" }>, "live" | "replicaSet">,
  signal: AbortSignal,
): Promise<void> {
  if (replicaSet.spec?.replicas !== 0 || live.spec?.replicas === 0) return;
  const cluster = await clusterOf(kube, peer, signal);
  if (cluster === undefined || !isAsleep(cluster)) throw behind(peer, "does not sleep");
  needUnpaused(peer, cluster);
}

function needUnpaused(peer: EtcdPeer, cluster: EtcdCluster | undefined): void {
  const by = pauseOf(cluster);
  if (by !== undefined) throw behind(peer, `is left alone: ${by}`);
}

async function clusterOf(kube: PeerWrites, { metadata, spec }: EtcdPeer, signal: AbortSignal) {
  return await liveAt(kube, ETCD_CLUSTERS, { namespace: metadata.namespace, name: spec.clusterName }, signal);
}

/** The cache of EtcdClusters is. */
function behind({ spec }: EtcdPeer, is: string): OperatorError {
  return notSeenYet(`EtcdCluster ${spec.clusterName} ${is}`);
}

/** Only this very claim, and only as it was read: whoever has just put it aside as a last copy is heard. */
async function deleteClaim(
  kube: PeerWrites,
  { metadata }: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const preconditions = { uid, resourceVersion };
  await kube.delete(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, { signal, preconditions });
  return { kind: "deleted", resource: PERSISTENT_VOLUME_CLAIMS, ref: { namespace, name }, uid };
}

async function quarantine(
  kube: PeerWrites,
  { claim, reason, at }: { claim: PersistentVolumeClaim; reason: string; at: string },
  signal: AbortSignal,
): Promise<Written> {
  const annotations = { [QUARANTINE_REASON_ANNOTATION]: reason, [QUARANTINE_TIME_ANNOTATION]: at };
  return await patchClaim(kube, claim, { labels: { [QUARANTINE_LABEL]: "true" }, annotations }, signal);
}

/** Patches only this very claim, and only as it was read. */
async function patchClaim(
  kube: PeerWrites,
  claim: PersistentVolumeClaim,
  metadata: object,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const options = { signal, type: "merge" as const, preconditions: { uid, resourceVersion } };
  return stored(
    PERSISTENT_VOLUME_CLAIMS,
    await kube.patch(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, { metadata }, options),
  );
}

/** Patches only this very pod: the one that follows it has its annotations from the template. */
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

/** Takes our last finalizer away, and with it the peer goes: the answer is the peer as it was last. */
async function releasePeer(
  kube: PeerWrites,
  { metadata }: EtcdPeer,
  finalizer: string,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const finalizers = (metadata.finalizers ?? []).filter((each) => each !== finalizer);
  const options = { signal, type: "merge" as const, preconditions: { uid, resourceVersion } };
  await kube.patch(ETCD_PEERS, { namespace, name }, { metadata: { finalizers } }, options);
  return { kind: "external" };
}

function stored<T extends KubeObject>(resource: Resource<T>, object: T): Written {
  return { kind: "stored", resource, object };
}
