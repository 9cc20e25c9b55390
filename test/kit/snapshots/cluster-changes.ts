import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present, unknown } from "#base/observed.ts";
import { newPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { type AlarmType, type Member, type MemberList, memberIdFromHex } from "#etcd/types.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";
import { born, changedPeer, claim, claimIdentity, cluster, LATER_ID, pod, withArrival } from "./cluster.ts";

// Changes of a snapshot (cluster.ts) that several tables use.

/** etcd's member list, which the snapshot must have. */
export function listIn({ members }: ClusterSnapshot): MemberList {
  if (members.is !== "present") throw new Error("the snapshot has no member list");
  return members.value;
}

/** The snapshot with these members in etcd's list. */
export function withMembers(snapshot: ClusterSnapshot, members: readonly Member[]): ClusterSnapshot {
  return { ...snapshot, members: present({ ...listIn(snapshot), members }) };
}

/** The snapshot with a change to each member in etcd's list. */
export function withEachMember(
  snapshot: ClusterSnapshot,
  change: (member: Member, n: number) => Partial<Member>,
): ClusterSnapshot {
  return withMembers(
    snapshot,
    listIn(snapshot).members.map((member, n) => ({ ...member, ...change(member, n) })),
  );
}

/** A member that is unknown to the operator, with only these properties in etcd's list. */
export function stranger(known: Partial<Member> = {}): Member {
  return { id: memberIdFromHex("f00"), name: "", peerUrls: [], clientUrls: [], isLearner: false, ...known };
}

/** A voter that a person added, which runs where the operator cannot reach it. */
export const THEIRS = stranger({
  name: "theirs",
  peerUrls: ["http://10.1.2.3:2380"],
  clientUrls: ["http://10.1.2.3:2379"],
});

/** The snapshot with one more member in etcd's list. */
export function withMember(snapshot: ClusterSnapshot, member: Member): ClusterSnapshot {
  return withMembers(snapshot, [...listIn(snapshot).members, member]);
}

/** The snapshot in which only so many of the first members are recorded as joined. */
export function withJoined(snapshot: ClusterSnapshot, count: number): ClusterSnapshot {
  const identity = snapshot.cluster.status!.identity!;
  const initialMembers = identity.initialMembers.map((member, n) => ({ ...member, joined: n < count }));
  const status = { ...snapshot.cluster.status, identity: { ...identity, initialMembers } };
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

/**
 * The snapshot in which the third of the first members is not recorded as joined, and may still bootstrap.
 * @param started whether etcd's list shows its start
 */
export function withStraggler(snapshot: ClusterSnapshot, { started }: { started: boolean }): ClusterSnapshot {
  const recorded = withJoined(snapshot, 2);
  const peer = born<EtcdPeer>(newPeer(recorded, recorded.cluster.status!.identity!, "my-etcd-2"));
  const peers = recorded.peers.map((each) => (each.metadata.name === "my-etcd-2" ? peer : each));
  const listed = withEachMember(recorded, ({ clientUrls }, n) => ({ clientUrls: n < 2 || started ? clientUrls : [] }));
  return { ...listed, peers };
}

/** The snapshot without the claims of these members. */
export function withoutClaims(snapshot: ClusterSnapshot, ...names: readonly string[]): ClusterSnapshot {
  return { ...snapshot, claims: snapshot.claims.filter(({ metadata }) => !names.includes(metadata.name)) };
}

/** The snapshot in which a person has deleted these claims, which remain because their pods use them. */
export function withDyingClaims(snapshot: ClusterSnapshot, ...names: readonly string[]): ClusterSnapshot {
  const deletionTimestamp = "2026-01-01T12:00:00Z";
  const claims = snapshot.claims.map((each) =>
    names.includes(each.metadata.name) ? { ...each, metadata: { ...each.metadata, deletionTimestamp } } : each,
  );
  return { ...snapshot, claims };
}

/** The snapshot in which this EtcdPeer is being deleted. */
export function withDyingPeer(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return changedPeer(snapshot, name, { deletionTimestamp: "2026-01-01T12:00:00Z" });
}

/** The snapshot without these EtcdPeers. */
export function withoutPeers(snapshot: ClusterSnapshot, ...names: readonly string[]): ClusterSnapshot {
  return { ...snapshot, peers: snapshot.peers.filter(({ metadata }) => !names.includes(metadata.name)) };
}

/** The snapshot in which the EtcdPeer of my-etcd-3 exists, and etcd has not added the member yet. */
export function withIntent(snapshot: ClusterSnapshot): ClusterSnapshot {
  const intent = withArrival(cluster(), "my-etcd-3", "intended").peers.at(-1)!;
  return { ...snapshot, peers: [...withoutPeers(snapshot, "my-etcd-3").peers, intent] };
}

/** The snapshot in which etcd has added my-etcd-3, and its claim waits for its volume. */
export function withUnboundLearner(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { clusterID } = snapshot.cluster.status!.identity!;
  const its = claim("my-etcd-3", claimIdentity(clusterID, LATER_ID), { bound: false });
  return { ...snapshot, claims: [...snapshot.claims, its] };
}

/**
 * The snapshot in which etcd has added my-etcd-3, and its claim is bound.
 * @param change further change of the claim
 */
export function withBoundLearner(
  snapshot: ClusterSnapshot,
  change: (claim: PersistentVolumeClaim) => PersistentVolumeClaim = (its) => its,
): ClusterSnapshot {
  const { clusterID } = snapshot.cluster.status!.identity!;
  return { ...snapshot, claims: [...snapshot.claims, change(claim("my-etcd-3", claimIdentity(clusterID, LATER_ID)))] };
}

/** The snapshot in which this claim waits for its volume. */
export function withUnboundClaim(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const claims = snapshot.claims.map((each) => (each.metadata.name === name ? { ...each, spec: {} } : each));
  return { ...snapshot, claims };
}

/** The snapshot without this claim. */
export function withoutClaim(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, claims: snapshot.claims.filter(({ metadata }) => metadata.name !== name) };
}

/** The snapshot in which every member reports these alarms: of the member with this ID, or of none. */
export function withAlarms(
  snapshot: ClusterSnapshot,
  ...raised: readonly { type: AlarmType; id?: string }[]
): ClusterSnapshot {
  const alarms = raised.map(({ type, id }) => ({ type, memberId: id === undefined ? undefined : memberIdFromHex(id) }));
  const endpoints = [...snapshot.endpoints].map(
    ([name, answer]) => [name, answer.is === "present" ? present({ ...answer.value, alarms }) : answer] as const,
  );
  return { ...snapshot, endpoints: new Map(endpoints) };
}

/** The snapshot in which Ready has had this status for so many milliseconds. */
export function readySince(snapshot: ClusterSnapshot, status: "True" | "False", msAgo: number): ClusterSnapshot {
  const since = (type: string, ago: number) => ({
    type,
    status,
    reason: "",
    message: "",
    observedGeneration: 1,
    lastTransitionTime: new Date(snapshot.takenAtMs - ago).toISOString(),
  });
  const conditions = [since("Available", 9 * msAgo), since("Ready", msAgo)];
  // All pods are older than that.
  const creationTimestamp = new Date(snapshot.takenAtMs - 2 * msAgo).toISOString();
  const aged = [...snapshot.pods].map(
    ([name, its]) => [name, { ...its, metadata: { ...its.metadata, creationTimestamp } }] as const,
  );
  return {
    ...snapshot,
    pods: new Map(aged),
    cluster: { ...snapshot.cluster, status: { ...snapshot.cluster.status, conditions } },
  };
}

/** The snapshot in which the member's pod can still bootstrap. */
export function withUnfencedPod(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, pods: new Map([...snapshot.pods, [name, pod(name, { ready: false, fenced: false })]]) };
}

/** The snapshot in which the member's pod was made so many milliseconds ago, can be dialled, and does not answer. */
export function dialled(snapshot: ClusterSnapshot, name: string, msAgo: number): ClusterSnapshot {
  const its = pod(name, { ready: false });
  const creationTimestamp = new Date(snapshot.takenAtMs - msAgo).toISOString();
  return {
    ...snapshot,
    pods: new Map([...snapshot.pods, [name, { ...its, metadata: { ...its.metadata, creationTimestamp } }]]),
    endpoints: new Map([...snapshot.endpoints, [name, unknown("refused")]]),
  };
}
