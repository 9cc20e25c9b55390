import { DEFAULT_VERSION } from "#api/common-schema.ts";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  CLUSTER_LABEL,
  FENCE,
  INITIAL_CLUSTER_ANNOTATION,
  REMOVAL_ANNOTATION,
  REVISION_ANNOTATION,
} from "#api/names.ts";
import { askedIn, revisionOf } from "#api/revision.ts";
import { NO_TLS } from "#api/tls.ts";
import type { EtcdCluster, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { type Observed, present } from "#base/observed.ts";
import { disruptionBudget } from "#cluster/exposure/desired/disruption-budget.ts";
import { clientService, headlessService } from "#cluster/exposure/desired/services.ts";
import { newIdentity } from "#cluster/identity/desired/identity.ts";
import { fencedPeer, intendedPeer, joiningPeer, newPeer } from "#cluster/members/desired/peer.ts";
import { memberNamed } from "#cluster/members/members.ts";
import type { ClusterSnapshot, MemberHistory } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { clusterIdFromHex, type EndpointStatus, type Member, type MemberList, memberIdFromHex } from "#etcd/types.ts";
import type { Draft, KubeObject, PersistentVolumeClaim, Pod } from "#kube/kinds.ts";

export const NOW = Date.UTC(2026, 0, 1, 12);

/** Hash of the template from which pods of these snapshots were made. */
const DEFAULT_REVISION = revisionOf(
  askedIn(clusterSpecSchema.parse({ replicas: 1, version: DEFAULT_VERSION }), undefined),
);

/** How far the cluster of a snapshot has progressed. */
export type Stage = "new" | "recorded" | "starting" | "joined" | "settled";

interface Given {
  readonly replicas?: number;
  /**
   * Default: "settled". new: no object; recorded: identity only; starting: all objects, no member joined; joined:
   * recorded as joined, not fenced.
   */
  readonly stage?: Stage;
  readonly spec?: Partial<EtcdCluster["spec"]>;
  readonly status?: EtcdClusterStatus;
  readonly deleting?: boolean;
  readonly annotations?: Record<string, string>;
  /** Names of members that do not answer. */
  readonly down?: readonly string[];
  /** Name of the leader; default: the first member. */
  readonly leader?: string;
  /** Overrides of the finished snapshot. */
  readonly with?: Partial<ClusterSnapshot>;
}

/** A snapshot of cluster `my-etcd` in namespace `foo`: by default settled, healthy and of three members. */
export function cluster(given: Given = {}): ClusterSnapshot {
  const replicas = given.replicas ?? 3;
  const stage = given.stage ?? "settled";
  const bare = bareSnapshot(replicas, given);
  if (stage === "new") return { ...edited(bare, given), ...given.with };
  const hasJoined = stage === "joined" || stage === "settled";
  const identity = newIdentity(bare);
  const initialMembers = identity.initialMembers.map((member) => ({ ...member, joined: hasJoined }));
  const recorded = { ...identity, initialMembers };
  const status = { ...given.status, identity: recorded };
  // The spec may have been edited since: existing objects were made for `replicas`, and `given.spec` is wanted now.
  const known: ClusterSnapshot = { ...bare, cluster: { ...bare.cluster, status } };
  if (stage === "recorded") return { ...edited(known, given), ...given.with };

  const leader =
    recorded.initialMembers.find(({ name }) => name === given.leader)?.id ?? recorded.initialMembers[0]!.id;
  const peers = recorded.initialMembers.map(({ name }) =>
    born(stage === "settled" ? fencedPeer(known, recorded, name) : newPeer(known, recorded, name)),
  );
  const up = hasJoined ? recorded.initialMembers.filter(({ name }) => !given.down?.includes(name)) : [];
  const endpoints = new Map<string, Observed<EndpointStatus>>(
    up.map(({ name, id }) => [name, present(endpointStatus(recorded.clusterID, id, leader))]),
  );
  const members: Observed<MemberList> =
    up.length > recorded.initialMembers.length / 2
      ? present(memberList(recorded.clusterID, recorded.initialMembers))
      : { is: "unknown", why: "no member with a leader answers" };
  const whole: ClusterSnapshot = {
    ...known,
    headlessService: born(headlessService(known)),
    clientService: born(clientService(known)),
    budget: born(disruptionBudget(known)),
    peers: peers as EtcdPeer[],
    claims: recorded.initialMembers.map(({ name, id }) => claim(name, claimIdentity(recorded.clusterID, id))),
    pods: new Map(
      recorded.initialMembers.map(({ name }) => [
        name,
        pod(name, { ready: up.some((member) => member.name === name) }),
      ]),
    ),
    endpoints,
    members,
  };
  return { ...edited(whole, given), ...given.with };
}

/** Annotations of a claim. */
export function claimIdentity(clusterID: string, memberID: string): Record<string, string> {
  return {
    [CLAIM_CLUSTER_ID_ANNOTATION]: clusterID,
    [CLAIM_CLUSTER_TOKEN_ANNOTATION]: "foo/my-etcd/uid-of-cluster",
    [CLAIM_MEMBER_ID_ANNOTATION]: memberID,
  };
}

function bareSnapshot(replicas: number, given: Given): ClusterSnapshot {
  const object: EtcdCluster = {
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdCluster",
    metadata: {
      namespace: "foo",
      name: "my-etcd",
      uid: "uid-of-cluster",
      resourceVersion: "100",
      generation: 1,
      creationTimestamp: "2026-01-01T11:00:00Z",
      ...(given.annotations === undefined ? {} : { annotations: given.annotations }),
      ...(given.deleting === true ? { deletionTimestamp: "2026-01-01T12:00:00Z" } : {}),
    },
    spec: clusterSpecSchema.parse({ replicas, version: DEFAULT_VERSION, tls: NO_TLS }),
    ...(given.status === undefined ? {} : { status: given.status }),
  };
  return {
    takenAtMs: NOW,
    replaceAfterMs: 300_000,
    memberTimeoutMs: 600_000,
    defaultTimes: { replaceAfterMs: 300_000, memberTimeoutMs: 600_000 },
    rereadWithinMs: 150_000,
    operatorNamespace: "etcd-operator-system",
    throughService: undefined,
    heard: new Set(),
    histories: new Map(),
    cluster: object,
    headlessService: undefined,
    clientService: undefined,
    budget: undefined,
    otherBudgets: [],
    networkPolicy: undefined,
    schedules: [],
    sourceBackups: [],
    podMonitor: undefined,
    certificates: undefined,
    auth: undefined,
    peers: [],
    foreignPeers: [],
    restore: undefined,
    claims: [],
    unseenClaims: present([]),
    pods: new Map(),
    endpoints: new Map(),
    unpublished: new Map(),
    members: { is: "unknown", why: "no member was asked" },
  };
}

function edited(snapshot: ClusterSnapshot, given: Given): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, ...given.spec } } };
}

/** The draft as the API server would store it. */
export function born<T extends KubeObject>(draft: Draft<T>, uid = `uid-of-${draft.kind}-${draft.metadata.name}`): T {
  const metadata = {
    resourceVersion: "200",
    generation: 1,
    creationTimestamp: "2026-01-01T11:00:00Z",
    ...draft.metadata,
    uid,
  };
  return { ...draft, metadata } as unknown as T;
}

export function endpointStatus(clusterID: string, id: string, leader: string | undefined): EndpointStatus {
  return {
    clusterId: clusterIdFromHex(clusterID),
    memberId: memberIdFromHex(id),
    version: "3.6.16",
    dbSizeBytes: 20_480,
    dbSizeInUseBytes: 16_384,
    dbSizeQuotaBytes: undefined,
    storageVersion: "3.6.0",
    leaderId: leader === undefined ? undefined : memberIdFromHex(leader),
    raftIndex: 10,
    raftAppliedIndex: 10,
    raftTerm: 2,
    isLearner: false,
    downgradeTo: undefined,
    alarms: [],
  };
}

function memberList(clusterID: string, members: readonly { name: string; id: string }[]): MemberList {
  return {
    clusterId: clusterIdFromHex(clusterID),
    answeredBy: memberIdFromHex(members[0]!.id),
    raftTerm: 2,
    members: members.map(
      ({ name, id }): Member => ({
        id: memberIdFromHex(id),
        name,
        peerUrls: [`http://${name}.my-etcd.foo.svc:2380`],
        clientUrls: [`http://${name}.my-etcd.foo.svc:2379`],
        isLearner: false,
      }),
    ),
  };
}

export function pod(name: string, given: { ready: boolean; fenced?: boolean }): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "foo",
      name: `${name}-abcde`,
      uid: `uid-of-pod-${name}`,
      resourceVersion: "300",
      labels: { [CLUSTER_LABEL]: "my-etcd" },
      annotations: {
        ...(given.fenced === false ? {} : { [INITIAL_CLUSTER_ANNOTATION]: FENCE }),
        [REVISION_ANNOTATION]: DEFAULT_REVISION,
      },
      creationTimestamp: "2026-01-01T11:00:00Z",
    },
    spec: { hostname: name, containers: [] },
    status: {
      phase: "Running",
      podIP: `10.0.0.${1 + Number(name.split("-").at(-1))}`,
      conditions: [{ type: "Ready", status: given.ready ? "True" : "False" }],
    },
  } as unknown as Pod;
}

export function claim(
  name: string,
  annotations: Record<string, string> = {},
  given: { bound?: boolean } = {},
): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace: "foo", name, uid: `uid-of-claim-${name}`, resourceVersion: "400", annotations },
    spec: given.bound === false ? {} : { volumeName: `volume-of-${name}` },
  } as unknown as PersistentVolumeClaim;
}

/** The snapshot at the pass after the cluster became Ready. */
export function calm(snapshot: ClusterSnapshot): ClusterSnapshot {
  const status = clusterStatus({ ...snapshot, throughService: present(true) }, { next: "settled" });
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

/** The snapshot with the budget that it needs. */
export function withBudget(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, budget: born(disruptionBudget(snapshot)) };
}

/**
 * How far a later member has progressed: EtcdPeer created, added to etcd, running as a learner, fenced with all data.
 */
export type Arrival = "intended" | "added" | "started" | "synced";

/** The ID of a later member in these snapshots. */
export const LATER_ID = "abcdef12345";

/** The snapshot with one more member on its way in, and the budget that it needs. */
export function withArrival(
  snapshot: ClusterSnapshot,
  name: string,
  stage: Arrival,
  given: { peer?: boolean } = {},
): ClusterSnapshot {
  const identity = snapshot.cluster.status!.identity!;
  const member: Member = {
    id: memberIdFromHex(LATER_ID),
    name: stage === "intended" || stage === "added" ? "" : name,
    peerUrls: [`http://${name}.my-etcd.foo.svc:2380`],
    clientUrls: stage === "intended" || stage === "added" ? [] : [`http://${name}.my-etcd.foo.svc:2379`],
    isLearner: true,
  };
  const listed = stage === "intended" ? snapshot : { ...snapshot, members: withListed(snapshot.members, member) };
  const drafts = {
    intended: () => intendedPeer(snapshot, identity, name),
    added: () => joiningPeer(listed, identity, name, LATER_ID),
    started: () => joiningPeer(listed, identity, name, LATER_ID),
    synced: () => fencedPeer(listed, identity, name),
  };
  const grown = born<EtcdPeer>(drafts[stage]());
  const peer: EtcdPeer = { ...grown, metadata: { ...grown.metadata, creationTimestamp: "2026-01-01T11:59:00Z" } };
  const runs = stage === "started" || stage === "synced";
  const status = { ...endpointStatus(identity.clusterID, LATER_ID, identity.initialMembers[0]!.id), isLearner: true };
  const arriving = {
    ...listed,
    peers: given.peer === false ? listed.peers : [...listed.peers, peer],
    endpoints: runs ? new Map([...listed.endpoints, [name, present(status)]]) : listed.endpoints,
    pods: runs
      ? new Map([...listed.pods, [name, pod(name, { ready: false, fenced: stage === "synced" })]])
      : listed.pods,
  };
  return snapshot.budget === undefined ? arriving : withBudget(arriving);
}

function withListed(members: ClusterSnapshot["members"], member: Member): ClusterSnapshot["members"] {
  return members.is === "present"
    ? present({ ...members.value, members: [...members.value.members, member] })
    : members;
}

/** The snapshot with a removal recorded on the EtcdPeer. */
export function withRemoval(snapshot: ClusterSnapshot, name: string, removal: string): ClusterSnapshot {
  return changedPeer(snapshot, name, { annotations: { [REMOVAL_ANNOTATION]: removal } });
}

/**
 * The snapshot in which this member passes etcd's health check while its client port is silent.
 * @param id the ID that the member reports
 */
export function unpublished(snapshot: ClusterSnapshot, name: string, id = idOf(snapshot, name)): ClusterSnapshot {
  return {
    ...addedLater(snapshot, name),
    endpoints: new Map([...snapshot.endpoints, [name, { is: "unknown", why: "its client port is silent" }]]),
    unpublished: new Map([...snapshot.unpublished, [name, memberIdFromHex(id)]]),
  };
}

/** The snapshot of a cluster that was formed without this member. */
function addedLater(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const identity = snapshot.cluster.status!.identity!;
  const initialMembers = identity.initialMembers.filter((member) => member.name !== name);
  const status = { ...snapshot.cluster.status, identity: { ...identity, initialMembers } };
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

function idOf({ cluster }: ClusterSnapshot, name: string): string {
  return cluster.status?.identity?.initialMembers.find((member) => member.name === name)?.id ?? LATER_ID;
}

/** The snapshot without this member in etcd's list; its EtcdPeer still exists. */
export function withoutMember(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  if (snapshot.members.is !== "present") return snapshot;
  const { value } = snapshot.members;
  return {
    ...snapshot,
    members: present({ ...value, members: value.members.filter((member) => member.name !== name) }),
  };
}

/** The snapshot with changed metadata of one EtcdPeer. */
export function changedPeer(snapshot: ClusterSnapshot, name: string, metadata: object): ClusterSnapshot {
  const peers = snapshot.peers.map((peer) => {
    if (peer.metadata.name !== name) return peer;
    const annotations = {
      ...peer.metadata.annotations,
      ...("annotations" in metadata ? (metadata.annotations as object) : {}),
    };
    return { ...peer, metadata: { ...peer.metadata, ...metadata, annotations } } as EtcdPeer;
  });
  return { ...snapshot, peers };
}

/** History of a member that has been observed for an hour and was always healthy. */
export const ALWAYS_WELL: MemberHistory = {
  knownForMs: 3_600_000,
  sickForMs: 0,
  wellMsAgo: 0,
  lostForMs: 0,
  silentForMs: 0,
  unfitForMs: 0,
  triedForMs: 0,
  podlessForMs: 0,
  unreadyForMs: 0,
  earlierTriesMs: 0,
};

/** The snapshot with these changes to the history of a listed member. */
export function withHistory(snapshot: ClusterSnapshot, name: string, change: Partial<MemberHistory>): ClusterSnapshot {
  const { id } = memberNamed(snapshot, name)!;
  const history = { ...(snapshot.histories.get(id) ?? ALWAYS_WELL), ...change };
  return { ...snapshot, histories: new Map(snapshot.histories).set(id, history) };
}

/** The snapshot in which this process has known the member, healthy or not, for so long. */
export function knownFor(snapshot: ClusterSnapshot, id: string, ms: number): ClusterSnapshot {
  const history = { ...ALWAYS_WELL, knownForMs: ms };
  return { ...snapshot, histories: new Map(snapshot.histories).set(id, history) };
}

/** The snapshot in which earlier new members were tried without success for so long, in milliseconds. */
export function triedBefore(snapshot: ClusterSnapshot, earlierTriesMs: number): ClusterSnapshot {
  const histories = [...snapshot.histories].map(([id, history]) => [id, { ...history, earlierTriesMs }] as const);
  return { ...snapshot, histories: new Map(histories) };
}

/** The snapshot in which this process has found the member unhealthy for so long. */
export function sickFor(snapshot: ClusterSnapshot, name: string, ms: number): ClusterSnapshot {
  const { id } = snapshot.cluster.status!.identity!.initialMembers.find((member) => member.name === name)!;
  const history = { ...ALWAYS_WELL, sickForMs: ms, wellMsAgo: ms, lostForMs: ms, silentForMs: ms, unfitForMs: ms };
  return { ...snapshot, histories: new Map(snapshot.histories).set(id, history) };
}

/** The snapshot without `spec.tls`. */
export function open(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { tls: _, ...spec } = snapshot.cluster.spec;
  return { ...snapshot, cluster: { ...snapshot.cluster, spec } };
}
