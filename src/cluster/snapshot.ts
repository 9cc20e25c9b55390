import { ordinalOf, peerHost, peerName, peerUrl, RESTORED_FROM, type Scheme } from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import { peerSchemeOf } from "#api/tls.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { ClusterIdentity, EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import type { Observed } from "#base/observed.ts";
import type { CertificateFacts } from "#certificates/facts.ts";
import type { SeenAuth } from "#cluster/auth/seen.ts";
import type { SpecTimes } from "#cluster/observe/spec-times.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { type Alarm, type EndpointStatus, hexOf, type MemberId, type MemberList } from "#etcd/types.ts";
import {
  type Certificate,
  type ConfigMap,
  controllerOf,
  type KubeObject,
  type NetworkPolicy,
  type PersistentVolumeClaim,
  type Pod,
  type PodDisruptionBudget,
  type PodMonitor,
  type Service,
} from "#kube/kinds.ts";

/**
 * Everything that a decision about an EtcdCluster may use. Built by observe.ts, read-only afterwards.
 * Objects from caches are present or absent; answers from etcd may also be unknown.
 */
export interface ClusterSnapshot {
  /** Milliseconds since 1970: the only current time that a rule has. */
  readonly takenAtMs: number;
  /** How long a member may be lost before it is replaced, in milliseconds; infinite when its spec has Never. */
  readonly replaceAfterMs: number;
  /** How long the first member that an update restarts may take until it is healthy, in milliseconds. */
  readonly memberTimeoutMs: number;
  /** Both times for clusters that do not set them: the operator's flags. */
  readonly defaultTimes: SpecTimes;
  /** How long a mounted Secret or ConfigMap may take to be read again after a change, in milliseconds. */
  readonly rereadWithinMs: number;
  /** The namespace in which the operator is installed. */
  readonly operatorNamespace: string;
  readonly cluster: EtcdCluster;
  readonly headlessService: Service | undefined;
  readonly clientService: Service | undefined;
  readonly budget: PodDisruptionBudget | undefined;
  /** Budgets that select a member's pod and that the operator has not created. Their spec has only the selector. */
  readonly otherBudgets: readonly PodDisruptionBudget[];
  readonly networkPolicy: NetworkPolicy | undefined;
  /** The EtcdBackupSchedules with a template that names this cluster, sorted by name. */
  readonly schedules: readonly EtcdBackupSchedule[];
  /** The EtcdBackups that name this cluster as their source, whatever created them; see first-backup.ts. */
  readonly sourceBackups: readonly EtcdBackup[];
  /** At most a minute old; `undefined` when no PodMonitor is wanted. See monitoring.ts. */
  readonly podMonitor: SeenMonitor | undefined;
  /**
   * Certificates as read from the cluster's Secrets; `undefined` when it uses no TLS. See cluster-tls/read/reads.ts.
   */
  readonly certificates: SeenCertificates | undefined;
  /** Users of etcd, at most some minutes old; `undefined` when spec.auth is not set. See auth/reads.ts. */
  readonly auth: SeenAuth | undefined;
  /** The EtcdPeers that this very cluster owns. */
  readonly peers: readonly EtcdPeer[];
  /**
   * EtcdPeers that name this cluster and that it does not own: written by a person, or left by an earlier cluster of
   * the name.
   */
  readonly foreignPeers: readonly EtcdPeer[];
  /** The EtcdRestore of the cluster's name, whatever created it. */
  readonly restore: EtcdRestore | undefined;
  /** Every claim with this cluster's label, whatever created it. */
  readonly claims: readonly PersistentVolumeClaim[];
  /**
   * Claims with names of future members that no cache holds. Read from the API server when a member is about to be
   * added: see unseen-claims.ts.
   */
  readonly unseenClaims: Observed<readonly PersistentVolumeClaim[]>;
  /** The current pod of each member that has one, by peer name. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** The status that each dialled member reported, by peer name. */
  readonly endpoints: ReadonlyMap<string, Observed<EndpointStatus>>;
  /**
   * IDs of members that pass etcd's own health check while their client port is silent, by peer name. They were added
   * later, and do not know yet that the cluster has their name; see etcd/health-check.ts.
   */
  readonly unpublished: ReadonlyMap<string, MemberId>;
  /** The linearizable member list; `unknown` without quorum. Never `absent`. */
  readonly members: Observed<MemberList>;
  /**
   * Whether the client Service just served a request. `undefined` when it was not tested: the cluster is Ready already,
   * or cannot be Ready for another reason. Never `absent`.
   */
  readonly throughService: Observed<true> | undefined;
  /**
   * Members that are about to be removed or rolled back although the leader receives raft traffic from them: they run.
   * IDs in hexadecimal; see etcd/heard-peers.ts.
   */
  readonly heard: ReadonlySet<string>;
  /** The history of each member since this process started, by member ID; see health-log.ts. */
  readonly histories: ReadonlyMap<string, MemberHistory>;
}

/** PodMonitor is no built-in kind: the API server may not serve it. */
export type SeenMonitor = Observed<PodMonitor> | { readonly is: "notServed" };

/** The use of a certificate: one of the leaves, or a CA. */
export type LeafPurpose = "peer" | "server" | "operator" | "application";
export type Purpose = LeafPurpose | "peerCA" | "clientCA";

/**
 * A certificate, and for how long this process has seen it unchanged, in milliseconds of a monotonic clock. A timely
 * renewal by the same CA is no change: peers still trust the previous certificate.
 */
export interface SeenCertificate extends CertificateFacts {
  readonly knownForMs: number;
  /** For how long the signing CA has been the same, in milliseconds. A renewal by that CA changes nothing. */
  readonly signerForMs: number;
}

/** Certificate is a kind of cert-manager: the API server may not serve it. */
export type SeenRequest = Observed<Certificate> | { readonly is: "notServed" };

/** The certificate in each Secret, by purpose; a missing key was not read. Read by name, at most some minutes ago. */
export type SeenCertificates = { readonly [purpose in Purpose]?: Observed<SeenCertificate> } & {
  /** The ConfigMap with the CA bundle for clients. */
  readonly trustMap?: Observed<ConfigMap>;
  /** For how long its content has been the same, in milliseconds. */
  readonly trustMapForMs?: number;
  /** The certificate of applications in Secret NAME-client, when the operator does not issue it. */
  readonly clientSecret?: Observed<SeenCertificate>;
  /** Certificates that are in use while `spec.tls` asks for others; see cluster-tls/effective/previous.ts. */
  readonly previous?: { readonly [purpose in Purpose]?: Observed<SeenCertificate> };
  /** Bindings of EtcdUsers, when members require client certificates; see cluster-tls/read/binding-times.ts. */
  readonly bindings?: readonly SeenBinding[];
  /**
   * For how long this process has seen each member's current pod, in milliseconds, by member name. Independent of other
   * clocks.
   */
  readonly podsForMs?: ReadonlyMap<string, number>;
  /** Certificates of some members from an intermediate spec: neither asked for now, nor recorded as in use. */
  readonly abandoned?: { readonly [purpose in "peer" | "server"]?: Observed<SeenCertificate> };
  /**
   * The API server's message why some of these Secrets can no longer be read; undefined when all can be. Their last
   * known content counts. Checked with each reading, at rest every minute or two.
   */
  readonly refused?: string;
  /** The Certificates of cert-manager. */
  readonly requests?: { readonly [purpose in LeafPurpose]?: SeenRequest };
};

/** The binding Secret of an EtcdUser, according to its status. */
export interface SeenBinding {
  /** Name of the EtcdUser. */
  readonly user: string;
  readonly secretName: string;
  /** SHA-256 of each CA in its `ca.crt`; undefined when the status does not have it yet. */
  readonly trustIds: readonly string[] | undefined;
  /** SHA-256 of the CA that signed its certificate; undefined when it has none. */
  readonly signerId: string | undefined;
  /** When its certificate expires, in milliseconds since 1970; undefined when unknown. */
  readonly notAfterMs: number | undefined;
  /** For how long this process has seen these values, in milliseconds of a monotonic clock. */
  readonly knownForMs: number;
  /**
   * When the EtcdUser was created, in milliseconds since 1970; undefined when this process has seen other values of the
   * binding.
   */
  readonly madeAtMs: number | undefined;
  /** The reason why the EtcdUser is not Ready; undefined when it is. */
  readonly reason: string | undefined;
}

/** Durations by a monotonic clock. Time without observations counts in none of them except `wellMsAgo`. */
export interface MemberHistory {
  /**
   * How long etcd's member list has contained the member, in milliseconds. Only observations that read the list count.
   * Pauses, and time in which a learner lacks only a pod, do not.
   */
  readonly knownForMs: number;
  /**
   * For how long the member has not participated in the quorum, in milliseconds; 0 if it does now, or did in the
   * previous observation.
   */
  readonly sickForMs: number;
  /** How long ago this process last saw the member participate in the quorum, in milliseconds; `undefined` if never. */
  readonly wellMsAgo: number | undefined;
  /**
   * Like `sickForMs`, but only from conclusive observations: the others returned the member list, and no other source
   * reported the member healthy. The member had its EtcdPeer, and the operator was free to act.
   */
  readonly lostForMs: number;
  /**
   * For how long the member has not served clients, in milliseconds; 0 if it does now, or did in the previous
   * observation.
   */
  readonly silentForMs: number;
  /**
   * For how long the member has lacked something (`lacks`), in milliseconds; 0 if it lacks nothing now, or lacked
   * nothing in the previous observation.
   */
  readonly unfitForMs: number;
  /**
   * The part of `unfitForMs` in which the member had the new template of an update, in milliseconds, over all its pods.
   */
  readonly triedForMs: number;
  /**
   * For how long the member has had no pod, in milliseconds; 0 if it has one now, or had in the previous observation.
   */
  readonly podlessForMs: number;
  /** For how long it has lacked only the readiness of its sidecars, in milliseconds: `sidecarReadiness` of `Lack`. */
  readonly unreadyForMs: number;
  /**
   * Total time, in milliseconds, that earlier joining members took that were removed before they started. Reset when
   * the cluster has as many voters as wanted and no member is joining. Equal for all members of a cluster.
   */
  readonly earlierTriesMs: number;
}

/** Memoizes a function of the snapshot: the answer is kept as long as the snapshot lives. */
export function remembered<T>(answer: (snapshot: ClusterSnapshot) => T): (snapshot: ClusterSnapshot) => T {
  const answers = new WeakMap<ClusterSnapshot, { readonly is: T }>();
  return (snapshot) => {
    const known = answers.get(snapshot) ?? { is: answer(snapshot) };
    answers.set(snapshot, known);
    return known.is;
  };
}

export function identityOf(snapshot: Pick<ClusterSnapshot, "cluster">): ClusterIdentity | undefined {
  return snapshot.cluster.status?.identity;
}

/**
 * The uid of the EtcdRestore that created this EtcdCluster from claims that it filled; undefined when a person created
 * it.
 */
export function restoredFrom({ cluster }: Pick<ClusterSnapshot, "cluster">): string | undefined {
  return cluster.metadata.annotations?.[RESTORED_FROM];
}

/** Whether reconciliation of this cluster is paused. */
export function isPaused({ cluster }: ClusterSnapshot): boolean {
  return pausedBy(cluster) !== undefined;
}

/**
 * Whether the cluster is still forming: no majority of the frozen list has joined. Afterwards, a first member that is
 * missing counts as down, like any other.
 */
export function isForming(snapshot: ClusterSnapshot): boolean {
  const members = identityOf(snapshot)?.initialMembers ?? [];
  return members.filter(({ joined }) => joined).length < quorumOf(Math.max(members.length, 1));
}

/**
 * When the operator began to form the cluster, in milliseconds since 1970. The EtcdCluster may be much older, so the
 * headless Service counts, which is created first; without one, the EtcdCluster.
 */
export function begunAtMs({ cluster, headlessService }: Pick<ClusterSnapshot, "cluster" | "headlessService">): number {
  return Date.parse((headlessService ?? cluster).metadata.creationTimestamp ?? "");
}

/**
 * Age below which a forming cluster gets no messages about its pods, in milliseconds. Longer would hide real trouble;
 * shorter would write messages that are outdated before they are read.
 */
const QUIET_MS = 5_000;

/** Whether the cluster has just begun to form. */
export function isQuiet(snapshot: ClusterSnapshot): boolean {
  const ageMs = snapshot.takenAtMs - begunAtMs(snapshot); // Negative when this node's clock is behind: the age is unknown then.
  return identityOf(snapshot) !== undefined && isForming(snapshot) && ageMs >= 0 && ageMs < QUIET_MS;
}

/** Whether this very cluster, not an earlier one of the same name, owns the object. */
export function isOwned(snapshot: ClusterSnapshot, object: KubeObject): boolean {
  return controllerOf(object)?.uid === snapshot.cluster.metadata.uid;
}

export function peerNamed(snapshot: ClusterSnapshot, name: string): EtcdPeer | undefined {
  return snapshot.peers.find((peer) => peer.metadata.name === name);
}

/**
 * The member's problem, from the Ready condition that the `peer` controller writes to the EtcdPeer. `undefined` when
 * there is none, or nothing is written yet.
 */
export function saidByPeer(snapshot: ClusterSnapshot, name: string): string | undefined {
  const ready = peerNamed(snapshot, name)?.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "False" ? ready.message : undefined;
}

export function hostOf(snapshot: ClusterSnapshot, peer: string): string {
  const { namespace, name } = snapshot.cluster.metadata;
  return peerHost(namespace, name, peer);
}

/** The scheme of peer URLs: as recorded in the identity, or else as the spec asks for. */
export function peerScheme(snapshot: ClusterSnapshot): Scheme {
  const identity = identityOf(snapshot);
  return identity === undefined ? peerSchemeOf(snapshot.cluster.spec) : (identity.peerScheme ?? "http");
}

/** The peer URL of the member. @param scheme defaults to that of the cluster */
export function urlOf(snapshot: ClusterSnapshot, peer: string, scheme: Scheme = peerScheme(snapshot)): string {
  return peerUrl(hostOf(snapshot, peer), scheme);
}

/** Names of the first `count` members: ordinals 0, 1, 2, … */
export function initialPeerNames(snapshot: ClusterSnapshot, count: number): readonly string[] {
  return Array.from({ length: count }, (_, ordinal) => peerName(snapshot.cluster.metadata.name, ordinal));
}

/** Orders names by ordinal, so that -10 comes after -9; foreign names last. */
export function byOrdinal(snapshot: ClusterSnapshot): (a: string, b: string) => number {
  const ordinal = (name: string) => ordinalOf(snapshot.cluster.metadata.name, name) ?? Number.MAX_SAFE_INTEGER;
  return (a, b) => ordinal(a) - ordinal(b);
}

/**
 * Whether the ID is that of a first member. All first members compute these IDs from their flags, so another cluster
 * with the same flags would have the same. IDs of members added later include the time, and are unique.
 */
export function isFounder(cluster: EtcdCluster, id: string): boolean {
  return cluster.status?.identity?.initialMembers.some((member) => member.id === id) ?? false;
}

/** IDs, in hexadecimal, of members for which the alarm CORRUPT is raised, whether or not they are still members. */
export function corruptMembers(snapshot: ClusterSnapshot): readonly string[] {
  const ids = corruptions(snapshot).flatMap(({ memberId }) => (memberId === undefined ? [] : hexOf(memberId)));
  return [...new Set(ids)].sort();
}

/** Whether members' data differs and etcd cannot determine which copy is right. */
export function isDataDisputed(snapshot: ClusterSnapshot): boolean {
  return corruptions(snapshot).some(({ memberId }) => memberId === undefined);
}

/**
 * IDs, in hexadecimal, of members with a database that has reached its quota (alarm NOSPACE): etcd refuses every write.
 */
export function fullMembers(snapshot: ClusterSnapshot): readonly string[] {
  const full = alarms(snapshot).filter(({ type }) => type === "NOSPACE");
  return [...new Set(full.flatMap(({ memberId }) => (memberId === undefined ? [] : hexOf(memberId))))].sort();
}

function corruptions(snapshot: ClusterSnapshot): readonly Alarm[] {
  return alarms(snapshot).filter(({ type }) => type === "CORRUPT");
}

/** Alarms that members of this cluster report. */
function alarms(snapshot: ClusterSnapshot): readonly Alarm[] {
  const clusterID = identityOf(snapshot)?.clusterID;
  return [...snapshot.endpoints.values()].flatMap((answer) =>
    answer.is === "present" && hexOf(answer.value.clusterId) === clusterID ? answer.value.alarms : [],
  );
}
