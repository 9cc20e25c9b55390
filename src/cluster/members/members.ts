import { FENCE, INITIAL_CLUSTER_ANNOTATION, peerName } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { type ClusterSnapshot, identityOf, isForming, peerNamed, remembered } from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { hexOf, type Member, type MemberId, memberIdFromHex } from "#etcd/types.ts";
import type { Pod } from "#kube/kinds.ts";
import { type ListedMember, labelIn, listedMembers } from "./listed-members.ts";
import { healthOf } from "./member-health.ts";
import { type MemberState, stateOf } from "./member-state.ts";

/** A listed member, and what is known of it. */
export interface KnownMember extends ListedMember, MemberState {}

/** The members of the cluster, sorted by ordinal: see `listedMembers`. */
export const knownMembers = remembered((snapshot): readonly KnownMember[] => {
  const listed = listedMembers(snapshot).map((member) => ({
    ...member,
    health: healthOf(snapshot, member.name, member.id),
  }));
  // Only managed voters are healthy here: a member that was added by hand is not dialled.
  const raftIndexes = listed.flatMap(({ isLearner, health }) =>
    !isLearner && health.is === "healthy" ? [health.status.raftIndex] : [],
  );
  return listed.map((member) => ({ ...member, ...stateOf(snapshot, member, Math.max(...raftIndexes)) }));
});

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

/** Managed members that do not participate in the quorum. */
export function sick(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return knownMembers(snapshot).filter((member) => member.isOurs && !member.participatesInQuorum);
}

/** How many more healthy voters there are than a quorum needs; negative without a quorum. */
export function spareVoters(voters: number, healthy: number): number {
  return healthy - quorumOf(voters);
}

/** The leader that the healthy voters report; `undefined` without one. */
export function leaderOf(snapshot: ClusterSnapshot): KnownMember | undefined {
  for (const { health } of votersOf(snapshot)) {
    if (health.is === "healthy")
      return knownMembers(snapshot).find(({ id }) => id === hexOf(health.status.leaderId as MemberId));
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
