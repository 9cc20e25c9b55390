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
import type { SpecTimes } from "#cluster/spec-times.ts";
import { whyNotMeant } from "#etcd/not-meant.ts";
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
 * All that one decision about an EtcdCluster may use. Built by observe.ts, read-only ever after.
 * What comes from caches is there or not there; what was asked of etcd may also be unknown.
 */
export interface ClusterSnapshot {
  /** Milliseconds since 1970: the only "now" that a rule knows. */
  readonly takenAtMs: number;
  /** How long a member may be lost before it is replaced, in milliseconds; infinite when its spec says Never. */
  readonly replaceAfterMs: number;
  /** How long the first member that an update restarts may take until it is healthy, in milliseconds. */
  readonly memberTimeoutMs: number;
  /** What the two are where the spec does not say so: what the operator was told for all clusters. */
  readonly defaultTimes: SpecTimes;
  /** How long it may take until whoever mounts a Secret, or a ConfigMap, has read it anew when it has changed, in milliseconds. */
  readonly rereadWithinMs: number;
  /** Where the operator itself is installed. */
  readonly operatorNamespace: string;
  readonly cluster: EtcdCluster;
  readonly headlessService: Service | undefined;
  readonly clientService: Service | undefined;
  readonly budget: PodDisruptionBudget | undefined;
  readonly networkPolicy: NetworkPolicy | undefined;
  /** The EtcdBackupSchedules whose template names this cluster, in the order of their names. */
  readonly schedules: readonly EtcdBackupSchedule[];
  /** The EtcdBackups whose source is this cluster, by its name, whoever made them; see first-backup.ts. */
  readonly sourceBackups: readonly EtcdBackup[];
  /** Read by name, a minute ago at most; `undefined` when nobody has asked for one. See monitoring.ts. */
  readonly podMonitor: SeenMonitor | undefined;
  /** What its Secrets say of its certificates; `undefined` when it asks for no TLS. See certificates/reads.ts. */
  readonly certificates: SeenCertificates | undefined;
  /** etcd's users, some minutes ago at most; `undefined` when nobody has asked for any. See auth/reads.ts. */
  readonly auth: SeenAuth | undefined;
  /** The EtcdPeers of this very cluster. */
  readonly peers: readonly EtcdPeer[];
  /** EtcdPeers that name this cluster, and that it does not own: somebody wrote them, or an earlier cluster of the name left them. */
  readonly foreignPeers: readonly EtcdPeer[];
  /** The EtcdRestore of the cluster's name, whoever made it. */
  readonly restore: EtcdRestore | undefined;
  /** Every claim that carries this cluster's label, whoever made it. */
  readonly claims: readonly PersistentVolumeClaim[];
  /** The current pod of each member that has one, by peer name. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** What each member that could be dialled said of itself, by peer name. */
  readonly endpoints: ReadonlyMap<string, Observed<EndpointStatus>>;
  /**
   * Members that were added later, and whose client port is silent although they pass etcd's own health check: the IDs that they
   * have, by peer name. They have not seen yet that the cluster knows their name; see etcd/health-check.ts.
   */
  readonly unpublished: ReadonlyMap<string, MemberId>;
  /** The linearizable member list; `unknown` without quorum. Never `absent`. */
  readonly members: Observed<MemberList>;
  /**
   * Whether a client that connected through the client Service was served just now; `undefined`: not asked, because the cluster is Ready
   * already, or something else still keeps it from that. Never `absent`.
   */
  readonly throughService: Observed<true> | undefined;
  /**
   * Members that are about to be given up, or to be put back unasked, and from whom the leader receives raft traffic all the same, by ID in
   * hexadecimal: they run, and take part. Nobody else is asked about; see etcd/heard-peers.ts.
   */
  readonly heard: ReadonlySet<string>;
  /** What this process has seen of each member up to now, by member ID; see health-log.ts. */
  readonly histories: ReadonlyMap<string, MemberHistory>;
}

/** The kind is not of Kubernetes' own: the API server may not know it. */
export type SeenMonitor = Observed<PodMonitor> | { readonly is: "notServed" };

/** What a certificate is for: one that is shown, or an authority. */
export type LeafPurpose = "peer" | "server" | "operator" | "application";
export type Purpose = LeafPurpose | "peerCA" | "clientCA";

/**
 * A certificate, and how long this process has known it to be as it is, in milliseconds by a clock that does not jump. A renewal in time by the same
 * authority is no change: with the one before everybody is still believed who has yet to hear of it.
 */
export interface SeenCertificate extends CertificateFacts {
  readonly knownForMs: number;
  /** The same of who has signed it: no renewal by the same authority changes that. */
  readonly signerForMs: number;
}

/** The kind is cert-manager's, and the API server may not know it. */
export type SeenRequest = Observed<Certificate> | { readonly is: "notServed" };

/** Of each purpose what its Secret says; what is missing here nobody has looked at. Read by name, some minutes ago at most. */
export type SeenCertificates = { readonly [purpose in Purpose]?: Observed<SeenCertificate> } & {
  /** The ConfigMap with whom clients have to trust. */
  readonly trustMap?: Observed<ConfigMap>;
  /** How long it is known to say what it says, in milliseconds. */
  readonly trustMapForMs?: number;
  /** What applications show, where the operator does not issue it: NAME-client. */
  readonly handout?: Observed<SeenCertificate>;
  /** The same of those that are in use, where `spec.tls` says by now that others are to be: see certificates/former.ts. */
  readonly former?: { readonly [purpose in Purpose]?: Observed<SeenCertificate> };
  /** What applications have by EtcdUsers, where members ask them for anything of it; see certificates/binding-times.ts. */
  readonly bindings?: readonly SeenBinding[];
  /** How long this process has known the pods by now, by member, in milliseconds: no clock of anybody else's is asked. */
  readonly podsForMs?: ReadonlyMap<string, number>;
  /** What some members show that was asked for in between: neither what is asked for now, nor what is on record as in use. */
  readonly between?: { readonly [purpose in "peer" | "server"]?: Observed<SeenCertificate> };
  /**
   * In the API server's words why something of this, which counts as it was seen before, is read no more: which right is missing, or what has been
   * in the way since it is not missing any more; undefined when all may be read. Whether it may be is found out with each reading, within a minute
   * or two at rest.
   */
  readonly refused?: string;
  /** What is asked of cert-manager. */
  readonly requests?: { readonly [purpose in LeafPurpose]?: SeenRequest };
};

/** The binding Secret of an EtcdUser, as its status tells it. */
export interface SeenBinding {
  /** Name of the EtcdUser. */
  readonly user: string;
  readonly secretName: string;
  /** SHA-256 of each authority in its `ca.crt`; undefined when nobody has told it yet. */
  readonly trustIds: readonly string[] | undefined;
  /** Which of them has signed its certificate; undefined when it has none. */
  readonly signerId: string | undefined;
  /** When its certificate ends, in milliseconds since 1970; undefined when that is not known. */
  readonly notAfterMs: number | undefined;
  /** How long this process has known it to say that, in milliseconds by a clock that does not jump. */
  readonly knownForMs: number;
  /** When the EtcdUser was made, in milliseconds since 1970; undefined when this process has seen the binding say something else. */
  readonly madeAtMs: number | undefined;
  /** Why the EtcdUser is not Ready: a reason; undefined when it is. */
  readonly reason: string | undefined;
}

/** Times by a clock that does not jump. Time in which nobody looked is in none of them, `wellMsAgo` excepted. */
export interface MemberHistory {
  /**
   * For how long looks with a member list have known the member, in milliseconds; pauses excepted, and the time in which all that a
   * learner lacks is a pod.
   */
  readonly knownForMs: number;
  /** For how long no look has found that it takes part, in milliseconds; 0 when it does, or did at the look before. */
  readonly sickForMs: number;
  /** How long ago a look of this process last found that it takes part, in milliseconds; `undefined` when none ever did. */
  readonly wellMsAgo: number | undefined;
  /**
   * As `sickForMs`, counted only in looks that are evidence: the others could be asked for the member list, it had what we give it
   * (its EtcdPeer, and an operator whose hands are not tied), and nobody else said that it is well.
   */
  readonly lostForMs: number;
  /** For how long no look has found that it serves clients, in milliseconds; 0 when it does, or did at the look before. */
  readonly silentForMs: number;
  /** For how long no look has found that it could be counted on while another one restarts, in milliseconds; 0 as above. See rolling.ts. */
  readonly unfitForMs: number;
  /** How much of that it had what an update brings, in milliseconds, whatever pods it was in. */
  readonly triedForMs: number;
  /** For how long no look has found a pod of it, in milliseconds; 0 when there is one, or was at the look before. */
  readonly podlessForMs: number;
  /** How long it has lacked nothing but the readiness of its pod: see `lackedReadiness`. */
  readonly unreadyForMs: number;
}

/** What is asked again and again of the same snapshot: the answer is remembered as long as the snapshot lives. */
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

/** The uid of the EtcdRestore that has made the EtcdCluster of claims that it has filled; undefined: a person has made it. */
export function restoredFrom({ cluster }: Pick<ClusterSnapshot, "cluster">): string | undefined {
  return cluster.metadata.annotations?.[RESTORED_FROM];
}

/** Whether a person has asked the operator to change nothing about this cluster. */
export function isPaused({ cluster }: ClusterSnapshot): boolean {
  return pausedBy(cluster) !== undefined;
}

/**
 * Whether the cluster is still being formed, because no majority of the frozen list has joined. A member of it that is missing
 * afterwards is a member that is down, like any other.
 */
export function isForming(snapshot: ClusterSnapshot): boolean {
  const members = identityOf(snapshot)?.initialMembers ?? [];
  return members.filter(({ joined }) => joined).length < quorumOf(Math.max(members.length, 1));
}

/**
 * When the cluster was begun, in milliseconds since 1970: it may have been made long before, and have waited for its turn or slept. What is made first
 * for it is its headless Service; before there is one, it is when the cluster was made.
 */
export function begunAtMs({ cluster, headlessService }: Pick<ClusterSnapshot, "cluster" | "headlessService">): number {
  return Date.parse((headlessService ?? cluster).metadata.creationTimestamp ?? "");
}

/** A cluster begun less than this ago gets no word on each pod's progress: the words would be old before they are read. In milliseconds. */
const QUIET_MS = 5_000;

/** Whether the cluster has just been begun, and is being formed as every other one. */
export function isQuiet(snapshot: ClusterSnapshot): boolean {
  const ageMs = snapshot.takenAtMs - begunAtMs(snapshot); // negative when the clock of this node is behind: then it says nothing
  return identityOf(snapshot) !== undefined && isForming(snapshot) && ageMs >= 0 && ageMs < QUIET_MS;
}

/** Whether this very cluster, not an earlier one of the same name, manages the object. */
export function isOwned(snapshot: ClusterSnapshot, object: KubeObject): boolean {
  return controllerOf(object)?.uid === snapshot.cluster.metadata.uid;
}

export function peerNamed(snapshot: ClusterSnapshot, name: string): EtcdPeer | undefined {
  return snapshot.peers.find((peer) => peer.metadata.name === name);
}

/**
 * What is in the member's way, as the room `peer` has written it to the EtcdPeer: it sees the claim and the ReplicaSet. `undefined`
 * when it says nothing, or that all is well.
 */
export function saidByPeer(snapshot: ClusterSnapshot, name: string): string | undefined {
  const ready = peerNamed(snapshot, name)?.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "False" ? ready.message : undefined;
}

export function hostOf(snapshot: ClusterSnapshot, peer: string): string {
  const { namespace, name } = snapshot.cluster.metadata;
  return peerHost(namespace, name, peer);
}

/** How members reach each other: since the cluster was formed, or else as its spec asks for. */
export function peerScheme(snapshot: ClusterSnapshot): Scheme {
  const identity = identityOf(snapshot);
  return identity === undefined ? peerSchemeOf(snapshot.cluster.spec) : (identity.peerScheme ?? "http");
}

/** Where the others reach the member. @param scheme that of the cluster, unless another one is meant */
export function urlOf(snapshot: ClusterSnapshot, peer: string, scheme: Scheme = peerScheme(snapshot)): string {
  return peerUrl(hostOf(snapshot, peer), scheme);
}

/** Names of the first `count` members: ordinals 0, 1, 2, … */
export function initialPeerNames(snapshot: ClusterSnapshot, count: number): readonly string[] {
  return Array.from({ length: count }, (_, ordinal) => peerName(snapshot.cluster.metadata.name, ordinal));
}

/** Numerically, so that -10 comes after -9; foreign names last. */
export function byOrdinal(snapshot: ClusterSnapshot): (a: string, b: string) => number {
  const ordinal = (name: string) => ordinalOf(snapshot.cluster.metadata.name, name) ?? Number.MAX_SAFE_INTEGER;
  return (a, b) => ordinal(a) - ordinal(b);
}

/** What a member's answer is worth. */
export type MemberHealth =
  | { readonly is: "healthy"; readonly status: EndpointStatus }
  /** The member takes part in all that the cluster decides, and does not serve clients yet. */
  | { readonly is: "unpublished"; readonly why: string }
  | { readonly is: "unhealthy"; readonly why: string; readonly status: EndpointStatus | undefined }
  /** The member answers as part of another cluster, or as another member, and is never believed. */
  | { readonly is: "stranger"; readonly why: string };

/**
 * Healthy is a member that answers as who it must be and follows a leader.
 * @param id the member's recorded ID in hexadecimal
 */
export function healthOf(snapshot: ClusterSnapshot, peer: string, id: string): MemberHealth {
  const clusterID = identityOf(snapshot)?.clusterID;
  const answer = snapshot.endpoints.get(peer);
  if (answer === undefined) return { is: "unhealthy", why: "it has no running pod", status: undefined };
  if (answer.is === "absent") return { is: "unhealthy", why: "it gave no answer", status: undefined };
  if (answer.is === "unknown") return unanswered(snapshot, snapshot.unpublished.get(peer), id, answer.why);
  const status = answer.value;
  const stranger = whyNotMeant(status, clusterID, id);
  if (stranger !== undefined) return { is: "stranger", why: stranger };
  if (status.leaderId === undefined) return { is: "unhealthy", why: "it has no leader", status };
  if (corruptMembers(snapshot).includes(id)) return { is: "unhealthy", why: CORRUPT, status };
  return { is: "healthy", status };
}

/** @param self who it is by its own word, if it passes etcd's health check */
function unanswered(snapshot: ClusterSnapshot, self: MemberId | undefined, id: string, why: string): MemberHealth {
  if (self === undefined || isFounder(snapshot.cluster, id)) return { is: "unhealthy", why, status: undefined };
  if (hexOf(self) !== id) return { is: "stranger", why: `it runs as member ${hexOf(self)} instead of ${id}` };
  if (corruptMembers(snapshot).includes(id)) return { is: "unhealthy", why: CORRUPT, status: undefined };
  return { is: "unpublished", why: "it takes part, and does not serve clients" };
}

const CORRUPT = "its data differs from the others' (alarm CORRUPT)";

/**
 * Whether the ID is one of the first members', who all know it from the start: another cluster that was formed by the same flags
 * would have it too. What etcd gives to a member that is added is mixed with the time, and never given twice.
 */
export function isFounder(cluster: EtcdCluster, id: string): boolean {
  return cluster.status?.identity?.initialMembers.some((member) => member.id === id) ?? false;
}

/** IDs, in hexadecimal, of members for which the alarm CORRUPT is raised, whether or not they are still members. */
export function corruptMembers(snapshot: ClusterSnapshot): readonly string[] {
  const ids = corruptions(snapshot).flatMap(({ memberId }) => (memberId === undefined ? [] : hexOf(memberId)));
  return [...new Set(ids)].sort();
}

/** Whether members' data differs and etcd cannot tell whose is right. */
export function isDataDisputed(snapshot: ClusterSnapshot): boolean {
  return corruptions(snapshot).some(({ memberId }) => memberId === undefined);
}

/** IDs, in hexadecimal, of members whose database has reached its quota (alarm NOSPACE): etcd refuses every write. */
export function fullMembers(snapshot: ClusterSnapshot): readonly string[] {
  const full = alarms(snapshot).filter(({ type }) => type === "NOSPACE");
  return [...new Set(full.flatMap(({ memberId }) => (memberId === undefined ? [] : hexOf(memberId))))].sort();
}

function corruptions(snapshot: ClusterSnapshot): readonly Alarm[] {
  return alarms(snapshot).filter(({ type }) => type === "CORRUPT");
}

/** As the members of this cluster tell them. */
function alarms(snapshot: ClusterSnapshot): readonly Alarm[] {
  const clusterID = identityOf(snapshot)?.clusterID;
  return [...snapshot.endpoints.values()].flatMap((answer) =>
    answer.is === "present" && hexOf(answer.value.clusterId) === clusterID ? answer.value.alarms : [],
  );
}
