import { CLUSTER_LABEL } from "#api/names.ts";
import { clusterSpecSchema, type EtcdCluster, type EtcdClusterStatus } from "#api/v1alpha1/cluster.ts";
import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import { type Observed, present } from "#base/observed.ts";
import { disruptionBudget } from "#cluster/desired/disruption-budget.ts";
import { newIdentity } from "#cluster/desired/identity.ts";
import { fencedPeer, newPeer } from "#cluster/desired/peer.ts";
import { clientService, headlessService } from "#cluster/desired/services.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterIdFromHex, type EndpointStatus, type Member, type MemberList, memberIdFromHex } from "#etcd/types.ts";
import type { Draft, KubeObject, PersistentVolumeClaim, Pod } from "#kube/kinds.ts";

export const NOW = Date.UTC(2026, 0, 1, 12);

/** How far the cluster of a snapshot has come. */
export type Stage = "new" | "recorded" | "starting" | "joined" | "settled";

interface Given {
  readonly replicas?: number;
  /** Default: "settled". new: nothing; recorded: identity only; starting: all objects, nobody joined; joined: on record, not fenced. */
  readonly stage?: Stage;
  readonly spec?: Partial<EtcdCluster["spec"]>;
  readonly status?: EtcdClusterStatus;
  readonly deleting?: boolean;
  /** Names of members that do not answer. */
  readonly down?: readonly string[];
  /** Overrides of the finished snapshot. */
  readonly with?: Partial<ClusterSnapshot>;
}

/** A snapshot of cluster `my-etcd` in namespace `foo`: settled, healthy and of three members unless told otherwise. */
export function cluster(given: Given = {}): ClusterSnapshot {
  const replicas = given.replicas ?? 3;
  const stage = given.stage ?? "settled";
  const bare = bareSnapshot(replicas, given);
  if (stage === "new") return { ...bare, ...given.with };
  const hasJoined = stage === "joined" || stage === "settled";
  const identity = newIdentity(bare);
  const initialMembers = identity.initialMembers.map((member) => ({ ...member, joined: hasJoined }));
  const recorded = { ...identity, initialMembers };
  const status = { ...given.status, identity: recorded };
  // The spec may have been edited since: what exists was made for `replicas`, what is wanted now is in `given.spec`.
  const known: ClusterSnapshot = { ...bare, cluster: { ...bare.cluster, status } };
  if (stage === "recorded") return { ...edited(known, given), ...given.with };

  const leader = recorded.initialMembers[0]!.id;
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

function bareSnapshot(replicas: number, given: Given): ClusterSnapshot {
  const object: EtcdCluster = {
    apiVersion: "etcd.improbable.io/v1alpha1",
    kind: "EtcdCluster",
    metadata: {
      namespace: "foo",
      name: "my-etcd",
      uid: "uid-of-cluster",
      resourceVersion: "100",
      generation: 1,
      creationTimestamp: "2026-01-01T11:00:00Z",
      ...(given.deleting === true ? { deletionTimestamp: "2026-01-01T12:00:00Z" } : {}),
    },
    spec: clusterSpecSchema.parse({ replicas }),
    ...(given.status === undefined ? {} : { status: given.status }),
  };
  return {
    takenAtMs: NOW,
    cluster: object,
    headlessService: undefined,
    clientService: undefined,
    budget: undefined,
    peers: [],
    claims: [],
    pods: new Map(),
    endpoints: new Map(),
    members: { is: "unknown", why: "nobody was asked" },
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
    errors: [],
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

export function pod(name: string, given: { ready: boolean }): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "foo",
      name: `${name}-abcde`,
      uid: `uid-of-pod-${name}`,
      resourceVersion: "300",
      labels: { [CLUSTER_LABEL]: "my-etcd" },
      creationTimestamp: "2026-01-01T11:00:00Z",
    },
    spec: { hostname: name, containers: [] },
    status: {
      phase: "Running",
      podIP: "10.0.0.1",
      conditions: [{ type: "Ready", status: given.ready ? "True" : "False" }],
    },
  } as unknown as Pod;
}

export function claim(name: string, annotations: Record<string, string> = {}): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace: "foo", name, uid: `uid-of-claim-${name}`, resourceVersion: "400", annotations },
  } as unknown as PersistentVolumeClaim;
}
