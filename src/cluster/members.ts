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

/** A member that etcd lists or, while it cannot be asked, that is on record. */
export interface KnownMember {
  /** The name of its peer; for a member that somebody else added, whatever it is called. */
  readonly name: string;
  /** In hexadecimal. */
  readonly id: string;
  readonly isLearner: boolean;
  /** Has started at least once: it has told the cluster where it serves clients, so it has data. */
  readonly hasStarted: boolean;
  /** Whether the operator has made it, or is to. A member that a person added is counted for the quorum, and left alone. */
  readonly isOurs: boolean;
  /** Where the others reach it, as etcd lists it; none while etcd cannot be asked. */
  readonly peerUrls: readonly string[];
}

/** The members of the cluster: what etcd lists when it could be asked, else what is on record. Sorted by ordinal. */
export const knownMembers = remembered((snapshot): readonly KnownMember[] => {
  const order = byOrdinal(snapshot);
  return [...membersIn(snapshot)].sort((a, b) => order(a.name, b.name));
});

function membersIn(snapshot: ClusterSnapshot): readonly KnownMember[] {
  if (snapshot.members.is === "present")
    return snapshot.members.value.members.map((member) => listed(snapshot, member));
  const recorded = snapshot.cluster.status?.members ?? [];
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
 * A listed member is known by its ID, which stands in its peer, in the frozen list, or on its claim. Only when none of them has the
 * ID is it known by the peer URL under which it was added: that of an intent, or of a member whose peer is gone.
 */
function listed(snapshot: ClusterSnapshot, member: Member): KnownMember {
  const id = hexOf(member.id);
  const host = hostIn(member.peerUrls[0]);
  const inUrl = labelIn(member.peerUrls[0]);
  const isOurUrl = isOurName(snapshot, inUrl) && ownUrls(snapshot, inUrl).some((url) => member.peerUrls.includes(url));
  const name = nameOfId(snapshot, id) ?? (isOurUrl ? inUrl : undefined);
  return {
    // Somebody else's may bear the name of one of ours: with its ID it is nobody else's.
    name: name ?? [member.name || host, id].filter((part) => part !== "").join("."),
    id,
    isLearner: member.isLearner,
    hasStarted: member.clientUrls.length > 0,
    isOurs: name !== undefined,
    peerUrls: member.peerUrls,
  };
}

/** Under which URLs a member of this name may have been added: as its EtcdPeer says, or as the others were while members went over to TLS. */
function ownUrls(snapshot: ClusterSnapshot, name: string): readonly string[] {
  const own = peerNamed(snapshot, name);
  const others = snapshot.peers.map(({ spec }) => reachedBy(spec));
  const schemes = own === undefined ? [peerScheme(snapshot), ...others] : [reachedBy(own.spec)];
  return schemes.map((scheme) => urlOf(snapshot, name, scheme));
}

function nameOfId(snapshot: ClusterSnapshot, id: string): string | undefined {
  const peer = snapshot.peers.find(({ spec }) => spec.memberID === id);
  if (peer !== undefined) return peer.metadata.name;
  const founder = identityOf(snapshot)?.initialMembers.find((member) => member.id === id);
  return founder?.name ?? snapshot.claims.find((claim) => memberIdIn(claim) === id)?.metadata.name;
}

function memberIdIn({ metadata }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION];
}

/** The claim that holds, or will hold, this very member's data, as far as the cache knows. */
export function claimOf(snapshot: ClusterSnapshot, { name, id }: KnownMember): PersistentVolumeClaim | undefined {
  return snapshot.claims.find((claim) => claim.metadata.name === name && memberIdIn(claim) === id);
}

function hostIn(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).hostname : (url ?? "");
}

/** What a member of ours is called in its URL. */
function labelIn(url: string | undefined): string {
  return hostIn(url).split(".")[0] ?? "";
}

function isOurName(snapshot: ClusterSnapshot, name: string): boolean {
  return ordinalOf(snapshot.cluster.metadata.name, name) !== undefined;
}

/** Whether a first member has data, whatever is on record: it answers as who it is, or etcd lists it as started. */
export function hasJoined(snapshot: ClusterSnapshot, { name, id }: { name: string; id: string }): boolean {
  if (healthOf(snapshot, name, id).is === "healthy") return true;
  return snapshot.members.is === "present" && memberById(snapshot, id)?.hasStarted === true;
}

/** Whether a first member may be started for the first time: it has not joined, and it still is a member. */
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

/** Whether the claim may hold data: it has a volume, or is to get one that was made from something, such as a snapshot. */
export function mayHoldData({ spec }: PersistentVolumeClaim): boolean {
  return spec?.volumeName !== undefined || spec?.dataSource !== undefined || spec?.dataSourceRef !== undefined;
}

export function memberNamed(snapshot: ClusterSnapshot, name: string): KnownMember | undefined {
  return knownMembers(snapshot).find((member) => member.name === name);
}

/** Whether who runs in pods of this name may be a member: etcd lists it by its ID, its name or its host, or could not be asked. */
export function mayBeMember(snapshot: ClusterSnapshot, name: string): boolean {
  if (snapshot.members.is !== "present" || memberNamed(snapshot, name) !== undefined) return true;
  const isCalledSo = (member: Member) => member.name === name || member.peerUrls.some((url) => labelIn(url) === name);
  return snapshot.members.value.members.some(isCalledSo);
}

export function votersOf(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return knownMembers(snapshot).filter((member) => !member.isLearner);
}

/** The voters that count as the ones that are wanted. */
export function ownVoters(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return votersOf(snapshot).filter(({ isOurs }) => isOurs);
}

/** Whether other members are wanted than there are. */
export function isResizing(snapshot: ClusterSnapshot): boolean {
  return ownVoters(snapshot).length !== snapshot.cluster.spec.replicas;
}

export function health(snapshot: ClusterSnapshot, member: KnownMember): MemberHealth {
  return healthOf(snapshot, member.name, member.id);
}

/** Whether it serves clients. */
export function isHealthy(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return health(snapshot, member).is === "healthy";
}

/** Whether it does its part for the quorum; clients may have to wait for it a little longer. */
export function takesPart(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const { is } = health(snapshot, member);
  return is === "healthy" || is === "unpublished";
}

/** Members of ours that do not do their part. Those that a person added are not asked. */
export function sick(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return knownMembers(snapshot).filter((member) => member.isOurs && !takesPart(snapshot, member));
}

/** How many more healthy voters there are than a quorum needs; negative without a quorum. */
export function spareVoters(voters: number, healthy: number): number {
  return healthy - quorumOf(voters);
}

/** The member that all healthy voters follow, as they tell; `undefined` when none does. */
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

/** A name that is just becoming free is waited for this long, in milliseconds; then the next one is taken. */
const NAME_PATIENCE_MS = 60_000;

/**
 * The name of the next member: the lowest ordinal that is free. A name is taken by a member, a peer, or a claim: the data of
 * another member keeps its name to itself.
 * @returns `leaving` when the name belongs to something that is just going away
 */
export function nextPeerName(snapshot: ClusterSnapshot): { readonly name: string; readonly leaving: boolean } {
  const members = new Set(knownMembers(snapshot).map(({ name }) => name));
  const others = [...snapshot.peers, ...snapshot.foreignPeers, ...snapshot.claims];
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

/** Peers that stand for a member which etcd has not been asked to add yet. Each is an intent, on record. */
export function intendedPeers(snapshot: ClusterSnapshot): readonly EtcdPeer[] {
  return snapshot.peers.filter(
    (peer) => peer.spec.bootstrap?.initialClusterState === "Existing" && peer.spec.memberID === undefined,
  );
}

/** Whether it stands on record that the member is to be removed. */
export function isLeaving(snapshot: ClusterSnapshot, name: string): boolean {
  return peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined;
}

/** Whether the member may only restart: its peer has no bootstrap section, and the pod that runs has been told. */
export function isFenced(snapshot: ClusterSnapshot, name: string): boolean {
  const peer = peerNamed(snapshot, name);
  const pod = snapshot.pods.get(name);
  return peer?.spec.bootstrap === undefined && peer !== undefined && isPodFenced(pod);
}

/** The kubelet reads the annotation whenever it starts the container. */
function isPodFenced(pod: Pod | undefined): boolean {
  return pod?.metadata.annotations?.[INITIAL_CLUSTER_ANNOTATION] === FENCE;
}
