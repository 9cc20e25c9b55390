import { roleNameOf, userNameOf } from "#api/etcd-names.ts";
import { ETCD_CONTAINER, METRICS_PORT } from "#api/names.ts";
import { isAsleep } from "#api/sleep.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { Clock } from "#base/clock.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import { anybody, ofThisCluster } from "#cluster/addressee.ts";
import type { AuthReads } from "#cluster/auth/reads.ts";
import type { HeldNames } from "#cluster/auth/unmanaged.ts";
import { nextUser } from "#cluster/auth/users.ts";
import { CLUSTER_INDEX, type ClusterCaches, cachedParts } from "#cluster/cached-parts.ts";
import type { BindingTimes } from "#cluster/certificates/binding-times.ts";
import { withKeptTls } from "#cluster/certificates/kept.ts";
import type { CertificateReads } from "#cluster/certificates/reads.ts";
import { askedAt, clientServiceAnswer, serviceEndpoint } from "#cluster/client-service-answer.ts";
import type { HealthLog } from "#cluster/health-log.ts";
import { type MemberAnswer, memberAnswer } from "#cluster/member-answer.ts";
import { askForList } from "#cluster/member-list.ts";
import { idOf, type KnownMember, leaderOf } from "#cluster/members.ts";
import type { Monitoring } from "#cluster/monitoring.ts";
import { givenUp, isDataWrong } from "#cluster/patience.ts";
import { type ClusterSnapshot, identityOf, isFounder } from "#cluster/snapshot.ts";
import { timesOf } from "#cluster/spec-times.ts";
import { overdueCanary } from "#cluster/trial.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { HeardPeers } from "#etcd/heard-peers.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Pod } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";
import type { Key } from "#runtime/controller.ts";
import type { Silences } from "#runtime/silences.ts";

export interface ClusterReads extends ClusterCaches {
  readonly etcd: EtcdClient;
  readonly identities: Identities;
  readonly clock: Clock;
  /** For what is not watched. */
  readonly kube: Pick<KubeClient, "find" | "raw">;
  /** How long a member may be lost before it is replaced, in milliseconds, where its cluster does not say so. */
  readonly replaceAfterMs: number;
  /** How long the first member that an update restarts may take until it is healthy, in milliseconds, where its cluster does not say so. */
  readonly memberTimeoutMs: number;
  /** How long it may take until whoever mounts a Secret has read it anew when it has changed, in milliseconds. */
  readonly rereadWithinMs: number;
  /** Where the operator itself is installed. */
  readonly operatorNamespace: string;
  /** How many clusters the process decides about, whatever is known of them. Default: none. */
  readonly fleetSize?: () => number;
  /** How many clusters are at rest besides those; for worlds that have few. Default: none. */
  readonly othersAtRest?: number;
  /** Hears of time between looks for which no look can speak, in milliseconds. */
  readonly onGap?: (ms: number) => void;
}

/** Time to listen to a leader, in milliseconds: two looks that are a second apart, and their answers. */
const LISTEN_DEADLINE_MS = 4_000;

/** What is remembered from look to look. All of it is cache: a process that starts begins without. */
interface ClusterMemory {
  readonly auth: AuthReads;
  readonly certificates: CertificateReads;
  readonly bindings: BindingTimes;
  readonly healthLog: HealthLog;
  readonly silences: Silences;
  readonly monitoring: Monitoring;
}

/** Everything that one decision may use, read side by side. Cached objects cost nothing; members are asked live. */
export async function observeCluster(
  reads: ClusterReads,
  memory: ClusterMemory,
  key: Key,
  signal: AbortSignal,
): Promise<Observed<ClusterSnapshot>> {
  const { healthLog, silences, monitoring, certificates } = memory;
  const cluster = reads.clusters.get(key);
  if (cluster === undefined) {
    healthLog.forget(key);
    silences.keep(key, []);
    monitoring.forget(key);
    certificates.forget(key);
    memory.bindings.forget(key);
    memory.auth.forget(key);
    return absent;
  }
  const index = `${key.namespace}/${key.name}`;
  const cached = cachedParts(reads, cluster);
  const { peers, pods } = cached;
  silences.keep(key, pods.values());
  // Before anybody is asked: it tells with what to connect.
  const users = reads.users.byIndex(CLUSTER_INDEX, index);
  const seenCertificates = await certificates.look(withKeptTls(cluster, { peers, pods }), { peers, pods }, signal);
  const answers = await askEach(reads, silences, cluster, peers, pods, signal);
  const endpoints = new Map([...answers].map(([name, { status }]) => [name, status]));
  const seen: ClusterSnapshot = {
    takenAtMs: reads.clock.wallMs(),
    ...timesOf(cluster.spec, reads),
    defaultTimes: { replaceAfterMs: reads.replaceAfterMs, memberTimeoutMs: reads.memberTimeoutMs },
    rereadWithinMs: reads.rereadWithinMs,
    operatorNamespace: reads.operatorNamespace,
    ...cached,
    podMonitor: await monitoring.look(cluster, signal),
    certificates: seenCertificates && { ...seenCertificates, bindings: memory.bindings.look(cluster, users) },
    endpoints,
    unpublished: new Map(
      [...answers].flatMap(([name, { passesAs }]) => (passesAs === undefined ? [] : [[name, passesAs]])),
    ),
    auth: undefined,
    members: await askForList(reads, cluster, pods, endpoints, signal),
    throughService: undefined,
    heard: new Set(),
    histories: new Map(),
  };
  if (seen.members.is !== "present") certificates.doubt(key, "operator");
  // Time asleep is in no count: who wakes up begins anew.
  if (isAsleep(cluster)) {
    healthLog.slept(key, seen, reads.clock.monotonicMs());
    return present(seen);
  }
  const histories = healthLog.look(key, seen, reads.clock.monotonicMs());
  const held = () => heldNames(reads, index);
  const told = await memory.auth.look(cluster, addresseeIn(reads, seen, signal), nextUser(seen), held, signal);
  const auth = told && { ...told, holders: held().users };
  const known = await secondLook(reads, healthLog, key, { ...seen, auth, histories }, signal);
  const address = askedAt(known);
  if (address === undefined) return present(known);
  const endpoint = serviceEndpoint(known, address, reads.identities);
  const throughService =
    endpoint.is === "present" ? await clientServiceAnswer(reads, endpoint.value, signal) : endpoint;
  return present({ ...known, throughService });
}

/** What objects say by now. */
function heldNames({ users, roles }: ClusterReads, index: string): HeldNames {
  return {
    users: new Map(users.byIndex(CLUSTER_INDEX, index).map((user) => [userNameOf(user), user.metadata.name])),
    roles: new Set(roles.byIndex(CLUSTER_INDEX, index).map(roleNameOf)),
  };
}

/** Who is asked what concerns the whole cluster. */
function addresseeIn({ identities }: ClusterReads, seen: ClusterSnapshot, signal: AbortSignal) {
  const endpoint = identityOf(seen) === undefined ? undefined : anybody(seen, identities);
  return endpoint === undefined ? undefined : { endpoint, options: ofThisCluster(seen, signal) };
}

/**
 * Before somebody is given up the others are asked whether they hear it; so they are about the first member that an update has restarted, before it is
 * put back, when no cache shows where it could be asked itself: the cache may be behind.
 */
async function secondLook(
  reads: ClusterReads,
  healthLog: HealthLog,
  key: Key,
  seen: ClusterSnapshot,
  signal: AbortSignal,
): Promise<ClusterSnapshot> {
  const suspects = givenUp(seen).filter((member) => !isDataWrong(seen, member));
  const overdue = overdueCanary(seen);
  const unasked = overdue === undefined || seen.endpoints.has(overdue.name) ? undefined : overdue;
  if (suspects.length === 0 && unasked === undefined) return seen;
  const leader = leaderOf(seen);
  const answer = leader === undefined ? undefined : await heardBy(reads, seen, leader, signal);
  // If nobody could be asked, or who was asked led no more, nothing has been said: then nobody is given up by this look.
  const isWord = answer?.is === "present" && answer.value.isLeader;
  // The leader does not hear itself; that it leads is its own word and the others'.
  const isHeard = (member: KnownMember) => !isWord || member.id === leader?.id || answer.value.heard.has(idOf(member));
  const heard = suspects.filter(isHeard);
  // Nobody's silence speaks for it: where it is needed for a quorum nobody leads, and it is put back.
  if (unasked !== undefined && isWord && isHeard(unasked)) heard.push(unasked);
  for (const { id } of heard) if (isWord) healthLog.vouch(key, id);
  return { ...seen, heard: new Set(heard.map(({ id }) => id)) };
}

async function heardBy(
  { etcd }: ClusterReads,
  { pods }: ClusterSnapshot,
  leader: KnownMember,
  signal: AbortSignal,
): Promise<Observed<HeardPeers> | undefined> {
  const pod = pods.get(leader.name);
  const address = pod === undefined ? undefined : dialAddress(pod, ETCD_CONTAINER, METRICS_PORT);
  if (address === undefined) return undefined;
  return await etcd.heardPeers(address, { signal, deadlineMs: LISTEN_DEADLINE_MS, expectedMemberId: idOf(leader) });
}

/** By peer name. */
async function askEach(
  reads: ClusterReads,
  silences: Silences,
  cluster: EtcdCluster,
  peers: readonly EtcdPeer[],
  pods: ReadonlyMap<string, Pod>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, MemberAnswer>> {
  const answers = new Map<string, MemberAnswer>();
  await Promise.all(
    [...pods].map(async ([name, pod]) => {
      const endpoint = endpointOf(pod, reads.identities);
      if (endpoint.is === "unknown") answers.set(name, { status: endpoint, passesAs: undefined });
      if (endpoint.is !== "present") return;
      const client = endpoint.value;
      const id = peers.find(({ metadata }) => metadata.name === name)?.spec.memberID;
      const mayBeUnpublished = id !== undefined && !isFounder(cluster, id);
      const metrics = mayBeUnpublished ? dialAddress(pod, ETCD_CONTAINER, METRICS_PORT) : undefined;
      const { namespace, name: clusterName } = cluster.metadata;
      const ask = () => memberAnswer(reads, { client, metrics }, signal);
      answers.set(name, await silences.ask({ namespace, name: clusterName }, pod, ask));
    }),
  );
  return answers;
}
