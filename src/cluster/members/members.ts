import {
  CLAIM_MEMBER_ID_ANNOTATION,
  FENCE,
  INITIAL_CLUSTER_ANNOTATION,
  ordinalOf,
  peerName,
  REMOVAL_ANNOTATION,
} from "#api/names.ts";
import { reachedBy } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import {
  byOrdinal,
  type ClusterSnapshot,
  healthOf,
  identityOf,
  isForming,
  type MemberHealth,
  peerNamed,
  peerScheme,
  remembered,
  urlOf,
} from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { hexOf, type Member, type MemberId, memberIdFromHex } from "#etcd/types.ts";
import type { PersistentVolumeClaim, Pod } from "#kube/kinds.ts";

/** A member that etcd lists or, while etcd cannot be asked, that the status records. */
export interface KnownMember {
  /** The name of its EtcdPeer; for a member that was added by hand, its own name. */
  readonly name: string;
  /** Member ID in hexadecimal. */
  readonly id: string;
  readonly isLearner: boolean;
  /** Has started at least once: it has published its client URLs, so it has data. */
  readonly hasStarted: boolean;
  /** Whether the operator manages it. A member that was added by hand counts for the quorum, and is left alone. */
  readonly isOurs: boolean;
  /** The peer URLs that etcd lists; none while etcd cannot be asked. */
  readonly peerUrls: readonly string[];
}

/**
 * The members of the cluster as etcd lists them, or as the status records them while etcd cannot be asked. Sorted by
 * ordinal.
 */
export const knownMembers = remembered((snapshot): readonly KnownMember[] => {
  const order = byOrdinal(snapshot);
  return [...membersIn(snapshot)].sort((a, b) => order(a.name, b.name));
});

function membersIn(snapshot: ClusterSnapshot): readonly KnownMember[] {
  if (snapshot.members.is === "present")
    return snapshot.members.value.members.map((member) => listed(snapshot, member));
  // While claims are being adopted, etcd's list was never read, and the status has only the claims adopted so far.
  const isAdopting = identityOf(snapshot)?.adopting === true;
  const recorded = isAdopting ? [] : (snapshot.cluster.status?.members ?? []);
  if (!isForming(snapshot) && recorded.length > 0) {
    return recorded.map(({ name, id, learner }) => ({
      name,
      id,
      isLearner: learner,
      hasStarted: !learner,
      isOurs: isOurName(snapshot, name),
      peerUrls: [],
    }));
  }
  const initial = identityOf(snapshot)?.initialMembers ?? [];
  return initial.map(({ name, id, joined }) => ({
    name,
    id,
    isLearner: false,
    hasStarted: joined,
    isOurs: true,
    peerUrls: [],
  }));
}

/**
 * A listed member is identified by its ID, from its EtcdPeer, the initial members, or its claim. Otherwise by its peer
 * URL: that of an intent, or of a member without an EtcdPeer.
 */
function listed(snapshot: ClusterSnapshot, member: Member): KnownMember {
  const id = hexOf(member.id);
  const host = hostIn(member.peerUrls[0]);
  const inUrl = labelIn(member.peerUrls[0]);
  const isOurUrl = isOurName(snapshot, inUrl) && ownUrls(snapshot, inUrl).some((url) => member.peerUrls.includes(url));
  const name = nameOfId(snapshot, id, inUrl) ?? (isOurUrl ? inUrl : undefined);
  return {
    // A foreign member may have the name of a managed one: the ID makes it unique.
    name: name ?? [member.name || host, id].filter((part) => part !== "").join("."),
    id,
    isLearner: member.isLearner,
    hasStarted: member.clientUrls.length > 0,
    isOurs: name !== undefined,
    peerUrls: member.peerUrls,
  };
}

/**
 * The URLs under which a member of this name may have been added. That is the URL of its EtcdPeer, or during a switch
 * to TLS those of the others.
 */
function ownUrls(snapshot: ClusterSnapshot, name: string): readonly string[] {
  const own = peerNamed(snapshot, name);
  const others = snapshot.peers.map(({ spec }) => reachedBy(spec));
  const schemes = own === undefined ? [peerScheme(snapshot), ...others] : [reachedBy(own.spec)];
  return schemes.map((scheme) => urlOf(snapshot, name, scheme));
}

/** @param inUrl the name in the member's URL: copies of a claim have the same ID and other names */
function nameOfId(snapshot: ClusterSnapshot, id: string, inUrl: string): string | undefined {
  const peer = snapshot.peers.find(({ spec }) => spec.memberID === id);
  if (peer !== undefined) return peer.metadata.name;
  const founder = identityOf(snapshot)?.initialMembers.find((member) => member.id === id);
  if (founder !== undefined) return founder.name;
  const named = snapshot.claims
    .filter((claim) => memberIdIn(claim) === id && isOurName(snapshot, claim.metadata.name))
    .map(({ metadata }) => metadata.name);
  return named.find((name) => name === inUrl) ?? named[0];
}

function memberIdIn({ metadata }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION];
}

/** The claim for the data of exactly this member, as far as the cache knows. */
export function claimOf(snapshot: ClusterSnapshot, { name, id }: KnownMember): PersistentVolumeClaim | undefined {
  return snapshot.claims.find((claim) => claim.metadata.name === name && memberIdIn(claim) === id);
}

function hostIn(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).hostname : (url ?? "");
}

/** The name of a managed member in its URL. */
function labelIn(url: string | undefined): string {
  return hostIn(url).split(".")[0] ?? "";
}

function isOurName(snapshot: ClusterSnapshot, name: string): boolean {
  return ordinalOf(snapshot.cluster.metadata.name, name) !== undefined;
}

/**
 * Whether an initial member has data, whatever the status records: it answers with its ID, or etcd lists it as started.
 */
export function hasJoined(snapshot: ClusterSnapshot, { name, id }: { name: string; id: string }): boolean {
  if (healthOf(snapshot, name, id).is === "healthy") return true;
  return snapshot.members.is === "present" && memberById(snapshot, id)?.hasStarted === true;
}

/** Whether an initial member may be started for the first time: it has not joined, and is still listed. */
export function mayBootstrap(snapshot: ClusterSnapshot, { name, id }: { name: string; id: string }): boolean {
  const founder = identityOf(snapshot)?.initialMembers.find((member) => member.id === id && member.name === name);
  if (founder === undefined || founder.joined) return false;
  if (isForming(snapshot)) return true;
  const isListed = snapshot.members.is === "present" && memberById(snapshot, id) !== undefined;
  return isListed && !hasJoined(snapshot, founder);
}

export function memberById(snapshot: ClusterSnapshot, id: string): KnownMember | undefined {
  return knownMembers(snapshot).find((member) => member.id === id);
}

/** Whether the claim may hold data: it has a volume, or will get one from a data source such as a snapshot. */
export function mayHoldData({ spec }: PersistentVolumeClaim): boolean {
  return spec?.volumeName !== undefined || spec?.dataSource !== undefined || spec?.dataSourceRef !== undefined;
}

export function memberNamed(snapshot: ClusterSnapshot, name: string): KnownMember | undefined {
  return knownMembers(snapshot).find((member) => member.name === name);
}

/** Whether pods of this name may belong to a member: etcd lists it by ID, name or host, or could not be asked. */
export function mayBeMember(snapshot: ClusterSnapshot, name: string): boolean {
  if (snapshot.members.is !== "present" || memberNamed(snapshot, name) !== undefined) return true;
  const isCalledSo = (member: Member) => member.name === name || member.peerUrls.some((url) => labelIn(url) === name);
  return snapshot.members.value.members.some(isCalledSo);
}

export function votersOf(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return knownMembers(snapshot).filter((member) => !member.isLearner);
}

/** The managed voters, which count against `spec.replicas`. */
export function ownVoters(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return votersOf(snapshot).filter(({ isOurs }) => isOurs);
}

/** Whether the number of managed voters differs from `spec.replicas`. */
export function isResizing(snapshot: ClusterSnapshot): boolean {
  return ownVoters(snapshot).length !== snapshot.cluster.spec.replicas;
}

export function health(snapshot: ClusterSnapshot, member: KnownMember): MemberHealth {
  return healthOf(snapshot, member.name, member.id);
}

/** Whether the member serves clients. */
export function isHealthy(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return health(snapshot, member).is === "healthy";
}

/**
 * Whether the member counts for the quorum: it is healthy, or it votes and does not serve clients yet (unpublished).
 */
export function participatesInQuorum(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const { is } = health(snapshot, member);
  return is === "healthy" || is === "unpublished";
}

/** Managed members that do not participate in the quorum. */
export function sick(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return knownMembers(snapshot).filter((member) => member.isOurs && !participatesInQuorum(snapshot, member));
}

/** How many more healthy voters there are than a quorum needs; negative without a quorum. */
export function spareVoters(voters: number, healthy: number): number {
  return healthy - quorumOf(voters);
}

/** The leader that the healthy voters report; `undefined` without one. */
export function leaderOf(snapshot: ClusterSnapshot): KnownMember | undefined {
  for (const member of votersOf(snapshot)) {
    const seen = health(snapshot, member);
    if (seen.is === "healthy")
      return knownMembers(snapshot).find(({ id }) => id === hexOf(seen.status.leaderId as MemberId));
  }
  return undefined;
}

export function idOf(member: KnownMember): MemberId {
  return memberIdFromHex(member.id);
}

/**
 * How long to wait for a name while its object is being deleted, in milliseconds; then the next name is used. Smaller:
 * names are skipped needlessly. Larger: a stuck deletion delays the new member.
 */
const NAME_PATIENCE_MS = 60_000;

/**
 * The name of the next member: the lowest free ordinal. A member, an EtcdPeer or a claim occupies a name, since a claim
 * may hold another member's data.
 * @returns `leaving` when the object of that name is being deleted
 */
export function nextPeerName(snapshot: ClusterSnapshot): { readonly name: string; readonly leaving: boolean } {
  const members = new Set(knownMembers(snapshot).map(({ name }) => name));
  const unseen = snapshot.unseenClaims.is === "present" ? snapshot.unseenClaims.value : [];
  const others = [...snapshot.peers, ...snapshot.foreignPeers, ...snapshot.claims, ...unseen];
  for (let ordinal = 0; ; ordinal++) {
    const name = peerName(snapshot.cluster.metadata.name, ordinal);
    const holders = others.filter(({ metadata }) => metadata.name === name);
    if (members.has(name)) continue;
    if (holders.length === 0) return { name, leaving: false };
    const isLeaving = holders.every(
      ({ metadata }) => snapshot.takenAtMs - Date.parse(metadata.deletionTimestamp ?? "") < NAME_PATIENCE_MS,
    );
    if (isLeaving) return { name, leaving: true };
  }
}

/** Intents: EtcdPeers of members that etcd has not been asked to add yet. */
export function intendedPeers(snapshot: ClusterSnapshot): readonly EtcdPeer[] {
  return snapshot.peers.filter(
    (peer) => peer.spec.bootstrap?.initialClusterState === "Existing" && peer.spec.memberID === undefined,
  );
}

/** Whether the removal of the member is recorded. */
export function isLeaving(snapshot: ClusterSnapshot, name: string): boolean {
  return peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined;
}

/**
 * Whether the member is fenced, so that it can only restart: neither its EtcdPeer nor its running pod may bootstrap.
 */
export function isFenced(snapshot: ClusterSnapshot, name: string): boolean {
  const peer = peerNamed(snapshot, name);
  const pod = snapshot.pods.get(name);
  return peer?.spec.bootstrap === undefined && peer !== undefined && isPodFenced(pod);
}

/** The kubelet reads the annotation at every start of the container. */
function isPodFenced(pod: Pod | undefined): boolean {
  return pod?.metadata.annotations?.[INITIAL_CLUSTER_ANNOTATION] === FENCE;
}
