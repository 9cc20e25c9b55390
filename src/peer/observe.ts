import { isAsleep } from "#api/sleep.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { Clock } from "#base/clock.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { endpointOf } from "#certificates/dial.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { knowIdentity } from "#certificates/know-identity.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  controllerOf,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  type Pod,
  type ReplicaSet,
} from "#kube/kinds.ts";
import { currentPod, isReady } from "#kube/pod.ts";
import { shownSecrets } from "#peer/shown-secrets.ts";
import { type PeerSnapshot, pauseOf, waitsForVolume } from "#peer/snapshot.ts";
import type { StorageClasses } from "#peer/storage-classes.ts";
import type { CacheView, Key } from "#runtime/controller.ts";
import type { Silences } from "#runtime/silences.ts";

/** Index of objects by their EtcdPeer, as `namespace/name`. */
export const PEER_INDEX = "peer";

export interface PeerReads {
  readonly clusters: CacheView<EtcdCluster>;
  readonly peers: CacheView<EtcdPeer>;
  readonly claims: CacheView<PersistentVolumeClaim>;
  readonly replicaSets: CacheView<ReplicaSet>;
  readonly pods: CacheView<Pod>;
  /**
   * Used for a claim that is missing in the cache, which selects claims by label and may miss one without labels. Also
   * used to list storage classes for a member that gets no volume.
   */
  readonly kube: Pick<KubeClient, "find" | "list">;
  readonly etcd: EtcdClient;
  readonly identities: Pick<Keyring, "identityOf" | "learn">;
  readonly clock: Clock;
  readonly imageRepository: string;
}

const MEMBER_DEADLINE_MS = 1_000;

/** Builds the snapshot for one decision. Reads caches; sends a request to etcd only when the pod is ready. */
export async function observePeer(
  reads: PeerReads & { readonly storageClasses: StorageClasses },
  silences: Silences,
  key: Key,
  signal: AbortSignal,
): Promise<Observed<PeerSnapshot>> {
  const peer = reads.peers.get(key);
  if (peer === undefined) {
    silences.keep(key, []);
    return absent;
  }
  const claim = await findClaim(reads, peer, signal);
  if (claim.is === "unknown") return claim;
  const cluster = reads.clusters.get({ namespace: key.namespace, name: peer.spec.clusterName });
  const replicaSet = reads.replicaSets.get(key);
  const pod = currentPod(reads.pods.byIndex(PEER_INDEX, `${key.namespace}/${key.name}`));
  silences.keep(key, pod === undefined ? [] : [pod]);
  const snapshot: PeerSnapshot = {
    takenAtMs: reads.clock.wallMs(),
    peer,
    pausedBy: pauseOf(cluster),
    isAsleep: shouldSleep(peer, cluster, replicaSet),
    shownSecrets: isOfCluster(peer, cluster) ? shownSecrets(cluster) : [],
    imageRepository: reads.imageRepository,
    claim: claim.is === "present" ? claim.value : undefined,
    replicaSet,
    pod,
    endpoint: await probeMember(reads, silences, { key, cluster, pod }, signal),
    storageClasses: undefined,
  };
  return present(
    waitsForVolume(snapshot) ? { ...snapshot, storageClasses: await reads.storageClasses.read(signal) } : snapshot,
  );
}

/**
 * Age in milliseconds up to which a peer without a claim in the cache is taken as new. Its claim is not created yet, so
 * a request to the API server would be wasted.
 */
const YOUNG_MS = 10_000;

/**
 * Asks the API server for a claim that is missing in the cache. A stale cache must not make the operator report that a
 * member's data is lost.
 */
async function findClaim(
  { claims, kube, clock }: PeerReads,
  { metadata, spec }: EtcdPeer,
  signal: AbortSignal,
): Promise<Observed<PersistentVolumeClaim>> {
  const { namespace, name } = metadata;
  const cached = claims.get({ namespace, name });
  if (cached !== undefined) return present(cached);
  const ageMs = clock.wallMs() - Date.parse(metadata.creationTimestamp ?? "");
  const isYoung = ageMs >= 0 && ageMs < YOUNG_MS;
  const isNotCreatedYet = spec.bootstrap !== undefined && (isYoung || spec.memberID === undefined);
  return isNotCreatedYet ? absent : await kube.find(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, { signal });
}

/**
 * Whether the member is to be stopped. A member keeps its current state when its EtcdCluster was deleted or recreated.
 *
 * A first member that is not known to have joined stays stopped until the other members run: without them it could
 * bootstrap a second cluster.
 */
function shouldSleep(peer: EtcdPeer, cluster: EtcdCluster | undefined, replicaSet: ReplicaSet | undefined): boolean {
  const isStopped = replicaSet?.spec?.replicas === 0;
  if (!isOfCluster(peer, cluster)) return isStopped;
  const mayBegin = peer.spec.bootstrap?.initialClusterState === "New";
  return isAsleep(cluster) || (isStopped && mayBegin && cluster.status?.sleep !== undefined);
}

/** Whether the EtcdCluster owns the peer, compared by uid: an earlier EtcdCluster may have had the same name. */
function isOfCluster(peer: EtcdPeer, cluster: EtcdCluster | undefined): cluster is EtcdCluster {
  return cluster !== undefined && controllerOf(peer)?.uid === cluster.metadata.uid;
}

async function probeMember(
  { etcd, kube, identities }: PeerReads,
  silences: Silences,
  { key, cluster, pod }: { key: Key; cluster: EtcdCluster | undefined; pod: Pod | undefined },
  signal: AbortSignal,
): Promise<Observed<EndpointStatus> | undefined> {
  if (pod === undefined || !isReady(pod)) return undefined;
  if (cluster !== undefined) await knowIdentity(kube, identities, cluster, signal);
  const endpoint = endpointOf(pod, identities);
  if (endpoint.is !== "present") return endpoint.is === "absent" ? undefined : endpoint;
  const probe = async () => ({
    status: await etcd.probe(endpoint.value, { signal, deadlineMs: MEMBER_DEADLINE_MS }),
    passesAs: undefined,
  });
  return (await silences.ask(key, pod, probe)).status;
}
