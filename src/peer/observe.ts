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

/** By peer: `namespace/name` of the EtcdPeer. */
export const PEER_INDEX = "peer";

export interface PeerReads {
  readonly clusters: CacheView<EtcdCluster>;
  readonly peers: CacheView<EtcdPeer>;
  readonly claims: CacheView<PersistentVolumeClaim>;
  readonly replicaSets: CacheView<ReplicaSet>;
  readonly pods: CacheView<Pod>;
  /**
   * For a claim that the cache does not know: it may be there, without the labels by which claims are selected. And for the storage
   * classes, which only a member that gets no volume needs.
   */
  readonly kube: Pick<KubeClient, "find" | "list">;
  readonly etcd: EtcdClient;
  readonly identities: Pick<Keyring, "identityOf" | "learn">;
  readonly clock: Clock;
  readonly imageRepository: string;
}

const MEMBER_DEADLINE_MS = 1_000;

/** Everything that one decision may use. Cached objects cost nothing; the member itself is asked only when its pod is ready. */
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
  const seen: PeerSnapshot = {
    takenAtMs: reads.clock.wallMs(),
    peer,
    pausedBy: pauseOf(cluster),
    isAsleep: sleeping(peer, cluster, replicaSet),
    shownSecrets: isOfCluster(peer, cluster) ? shownSecrets(cluster) : [],
    imageRepository: reads.imageRepository,
    claim: claim.is === "present" ? claim.value : undefined,
    replicaSet,
    pod,
    endpoint: await ask(reads, silences, { key, cluster, pod }, signal),
    storageClasses: undefined,
  };
  return present(waitsForVolume(seen) ? { ...seen, storageClasses: await reads.storageClasses.read(signal) } : seen);
}

/** A peer younger than this, in milliseconds, has no claim as a rule, so that asking for it would be a request for nothing. */
const YOUNG_MS = 10_000;

/** Asks the API server for a claim that the cache does not know: that a member's data is gone is not believed on a cache's word. */
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
  const isYetToBeMade = spec.bootstrap !== undefined && (isYoung || spec.memberID === undefined);
  return isYetToBeMade ? absent : await kube.find(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, { signal });
}

/**
 * A member whose EtcdCluster is gone, or was made again, is on its way out: it is neither stopped nor started for that. A first member that is
 * not known to have joined sleeps until the others are awake: they know whether it has, and it could begin anew without them.
 */
function sleeping(peer: EtcdPeer, cluster: EtcdCluster | undefined, replicaSet: ReplicaSet | undefined): boolean {
  const isStopped = replicaSet?.spec?.replicas === 0;
  if (!isOfCluster(peer, cluster)) return isStopped;
  const mayBegin = peer.spec.bootstrap?.initialClusterState === "New";
  return isAsleep(cluster) || (isStopped && mayBegin && cluster.status?.sleep !== undefined);
}

/** Whether it is this very EtcdCluster's, not an earlier one's of the same name. */
function isOfCluster(peer: EtcdPeer, cluster: EtcdCluster | undefined): cluster is EtcdCluster {
  return cluster !== undefined && controllerOf(peer)?.uid === cluster.metadata.uid;
}

async function ask(
  { etcd, kube, identities }: PeerReads,
  silences: Silences,
  { key, cluster, pod }: { key: Key; cluster: EtcdCluster | undefined; pod: Pod | undefined },
  signal: AbortSignal,
): Promise<Observed<EndpointStatus> | undefined> {
  if (pod === undefined || !isReady(pod)) return undefined;
  if (cluster !== undefined) await knowIdentity(kube, identities, cluster, signal);
  const endpoint = endpointOf(pod, identities);
  if (endpoint.is !== "present") return endpoint.is === "absent" ? undefined : endpoint;
  const question = async () => ({
    status: await etcd.probe(endpoint.value, { signal, deadlineMs: MEMBER_DEADLINE_MS }),
    passesAs: undefined,
  });
  return (await silences.ask(key, pod, question)).status;
}
