import { roleNameOf, userNameOf } from "#api/etcd-names.ts";
import { ETCD_CONTAINER, METRICS_PORT } from "#api/names.ts";
import { isAsleep } from "#api/sleep.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { Clock } from "#base/clock.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import type { AuthReads } from "#cluster/auth/reads.ts";
import type { HeldNames } from "#cluster/auth/unmanaged.ts";
import { nextUser } from "#cluster/auth/users.ts";
import type { Monitoring } from "#cluster/exposure/monitoring.ts";
import type { HealthLog } from "#cluster/members/health-log.ts";
import { idOf, type KnownMember, leaderOf } from "#cluster/members/members.ts";
import { votersToReplace } from "#cluster/members/patience.ts";
import { type ClusterSnapshot, identityOf, isFounder } from "#cluster/snapshot.ts";
import { overdueCanary } from "#cluster/update/canary.ts";
import { withEffectiveTls } from "#cluster-tls/effective/effective.ts";
import type { BindingTimes } from "#cluster-tls/read/binding-times.ts";
import type { CertificateReads } from "#cluster-tls/read/reads.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { HeardPeers } from "#etcd/heard-peers.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Pod } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";
import type { Key } from "#runtime/controller.ts";
import type { Silences } from "#runtime/silences.ts";
import { anyVoter, ofThisCluster } from "./addressee.ts";
import { CLUSTER_INDEX, type ClusterCaches, cachedParts } from "./cached-parts.ts";
import { askedAt, clientServiceAnswer, serviceEndpoint } from "./client-service-answer.ts";
import type { LastChecks } from "./last-checks.ts";
import { type MemberAnswer, memberAnswer } from "./member-answer.ts";
import { askForList } from "./member-list.ts";
import { timesOf } from "./spec-times.ts";
import { findUnseenClaims } from "./unseen-claims.ts";

export interface ClusterReads extends ClusterCaches {
  readonly etcd: EtcdClient;
  readonly identities: Identities;
  readonly clock: Clock;
  /** Client for objects that are not watched. */
  readonly kube: Pick<KubeClient, "find" | "raw">;
  /** Default time for which a member may be lost before it is replaced, in milliseconds. */
  readonly replaceAfterMs: number;
  /** Default time in which the first member of an update must become healthy, in milliseconds. */
  readonly memberTimeoutMs: number;
  /** How long a mounted Secret may take to be read again after a change, in milliseconds. */
  readonly rereadWithinMs: number;
  /** The namespace in which the operator is installed. */
  readonly operatorNamespace: string;
  /** How many clusters this process reconciles, including those not observed yet. Default: none. */
  readonly fleetSize?: () => number;
  /** Additional clusters at rest, for simulations with few. Default: none. */
  readonly othersAtRest?: number;
  /** Called with the time between observations that none of them covers, in milliseconds. */
  readonly onGap?: (ms: number) => void;
  /** Where each check is recorded for metrics. Default: nowhere. */
  readonly lastChecks?: LastChecks;
}

/** How long the traffic of a leader is observed, in milliseconds: two readings one second apart, and their answers. */
const LISTEN_DEADLINE_MS = 4_000;

/** State kept between observations. All of it is cache: a process starts without any. */
interface ClusterMemory {
  readonly auth: AuthReads;
  readonly certificates: CertificateReads;
  readonly bindings: BindingTimes;
  readonly healthLog: HealthLog;
  readonly silences: Silences;
  readonly monitoring: Monitoring;
}

/** Everything that one decision may use, read in parallel. Cached objects cost nothing; members are queried live. */
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
    reads.lastChecks?.forget(key);
    return absent;
  }
  const index = `${key.namespace}/${key.name}`;
  const cached = cachedParts(reads, cluster);
  const { peers, pods } = cached;
  silences.keep(key, pods.values());
  // Before the members are queried: the certificates decide how to connect.
  const users = reads.users.byIndex(CLUSTER_INDEX, index);
  const seenCertificates = await certificates.look(withEffectiveTls(cluster, { peers, pods }), { peers, pods }, signal);
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
    unseenClaims: present([]),
  };
  reads.lastChecks?.observed(key, seen);
  if (seen.members.is !== "present") certificates.doubt(key, "operator");
  // No history counts sleep: after the wake-up all of them begin again.
  if (isAsleep(cluster)) {
    healthLog.slept(key, seen, reads.clock.monotonicMs());
    return present(seen);
  }
  const histories = healthLog.record(key, seen, reads.clock.monotonicMs());
  const held = () => heldNames(reads, index);
  const readAuth = await memory.auth.look(cluster, addresseeIn(reads, seen, signal), nextUser(seen), held, signal);
  const auth = readAuth && { ...readAuth, holders: held().users };
  const unseenClaims = await findUnseenClaims(reads.kube, seen, signal);
  const known = await withRaftEvidence(reads, healthLog, key, { ...seen, auth, histories, unseenClaims }, signal);
  const address = askedAt(known);
  if (address === undefined) return present(known);
  const endpoint = serviceEndpoint(known, address, reads.identities);
  const throughService =
    endpoint.is === "present" ? await clientServiceAnswer(reads, endpoint.value, signal) : endpoint;
  return present({ ...known, throughService });
}

/** Names of users and roles in EtcdUsers and EtcdRoles. */
function heldNames({ users, roles }: ClusterReads, index: string): HeldNames {
  return {
    users: new Map(users.byIndex(CLUSTER_INDEX, index).map((user) => [userNameOf(user), user.metadata.name])),
    roles: new Set(roles.byIndex(CLUSTER_INDEX, index).map(roleNameOf)),
  };
}

/** The member that receives requests about the whole cluster. */
function addresseeIn({ identities }: ClusterReads, seen: ClusterSnapshot, signal: AbortSignal) {
  const endpoint = identityOf(seen) === undefined ? undefined : anyVoter(seen, identities);
  return endpoint === undefined ? undefined : { endpoint, options: ofThisCluster(seen, signal) };
}

/**
 * Before a removal, the leader is asked whether it receives raft traffic from the member. It is also asked before the
 * rollback of a canary without an address in the cache, which may be stale.
 */
async function withRaftEvidence(
  reads: ClusterReads,
  healthLog: HealthLog,
  key: Key,
  seen: ClusterSnapshot,
  signal: AbortSignal,
): Promise<ClusterSnapshot> {
  const suspects = votersToReplace(seen).filter((member) => member.data.fault === "none");
  const overdue = overdueCanary(seen);
  const unasked = overdue === undefined || seen.endpoints.has(overdue.name) ? undefined : overdue;
  if (suspects.length === 0 && unasked === undefined) return seen;
  const leader = leaderOf(seen);
  const answer = leader === undefined ? undefined : await heardBy(reads, seen, leader, signal);
  // Without an answer, or when the member no longer leads, there is no evidence: then no member is removed in this
  // pass.
  const isWord = answer?.is === "present" && answer.value.isLeader;
  // The leader receives no traffic from itself; its own answer and those of the others prove that it leads.
  const isHeard = (member: KnownMember) => !isWord || member.id === leader?.id || answer.value.heard.has(idOf(member));
  const heard = suspects.filter(isHeard);
  // Silence is evidence only with a leader. If the member is needed for a quorum, there is no leader, and it is rolled
  // back.
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

/** Answers by peer name. */
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
