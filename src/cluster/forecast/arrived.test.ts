import { describe, expect, test } from "vitest";
import {
  CLEANUP_FINALIZER,
  CLUSTER_LABEL,
  FENCE,
  INITIAL_CLUSTER_ANNOTATION,
  QUARANTINE_FINALIZER,
  REVISION_ANNOTATION,
} from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { changedPeer, cluster, LATER_ID, sickFor, withArrival, withBudget } from "#kit/snapshots/cluster.ts";
import { listIn, stranger, withMember, withUnfencedPod } from "#kit/snapshots/cluster-changes.ts";
import {
  NEWER,
  saying,
  silentFor,
  wanting,
  withCrashing,
  withoutPod,
  withPeer,
  withPod,
  withTurn,
} from "#kit/snapshots/cluster-rolling.ts";
import { isReady } from "#kube/pod.ts";
import { arrived } from "./model-kubernetes.ts";

const NAME = "my-etcd-1";
const LOST = cluster({ down: [NAME] });

function answer(snapshot: ClusterSnapshot, name = NAME) {
  const said = arrived(snapshot).endpoints.get(name);
  return said?.is === "present" ? said.value : undefined;
}

function pod(snapshot: ClusterSnapshot, name = NAME) {
  return arrived(snapshot).pods.get(name);
}

function annotation(snapshot: ClusterSnapshot, key: string, name = NAME) {
  return pod(snapshot, name)?.metadata.annotations?.[key];
}

describe("forecast: what happens without a step", () => {
  test("nothing changes without a quorum or without any answer", () => {
    const outage = cluster({ down: ["my-etcd-0", NAME] });
    expect(arrived(outage)).toBe(outage);
    const mute = { ...cluster(), endpoints: new Map() };
    expect(arrived(mute)).toBe(mute);
  });

  test("each ReplicaSet gets the template of its EtcdPeer, and Kubernetes observes the PodDisruptionBudget", () => {
    const given = withTurn(wanting(NEWER), NAME, NEWER, { isTakenOver: false });
    const { budget } = withBudget(given);
    const disruptedPods = { x: "2026-01-01T12:00:00Z" };
    const unseen = { ...budget!, status: { observedGeneration: 0, disruptedPods } } as unknown as typeof budget;
    const made = arrived({ ...given, budget: unseen });
    expect(made.peers[1]?.status?.revision).toBe(revisionOf(NEWER));
    expect(made.budget?.status).toEqual({ observedGeneration: 1, disruptedPods: {} });
    expect(arrived({ ...given, budget: undefined }).budget).toBeUndefined();
  });

  test("a missing pod is created from its EtcdPeer and becomes Ready", () => {
    const given = begin(LOST).apply(withPeer, NAME, { spec: NEWER }).apply(withoutPod, NAME).snapshot;
    expect(pod(given)?.metadata).toMatchObject({
      ...{ namespace: "foo", name: NAME, creationTimestamp: "2026-01-01T12:00:00Z" },
      labels: { [CLUSTER_LABEL]: "my-etcd" },
    });
    expect(annotation(given, REVISION_ANNOTATION)).toBe(revisionOf(NEWER));
    expect(pod(given)?.status).toEqual({
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ name: "etcd", state: { running: {} } }],
    });
    expect(answer(given)).toMatchObject({ version: "3.6.17", isLearner: false });
    expect(answer(given)?.memberId).toBe(listIn(given).members[1]?.id);
  });

  test("a pod that is being deleted is replaced", () => {
    const given = withPod(LOST, NAME, { metadata: { uid: "old", deletionTimestamp: "2026-01-01T12:00:00Z" } });
    expect(pod(given)?.metadata.uid).not.toBe("old");
    expect(pod(given)?.metadata.deletionTimestamp).toBeUndefined();
  });

  test("an existing pod becomes Ready and keeps its metadata", () => {
    expect(pod(LOST)?.metadata).toEqual(LOST.pods.get(NAME)?.metadata);
    expect([isReady(LOST.pods.get(NAME)!), isReady(pod(LOST)!)]).toEqual([false, true]);
    expect(answer(cluster())).toEqual({ ...answer(LOST), memberId: answer(cluster())?.memberId });
  });

  test("all members reach the highest raft index", () => {
    const given = begin(LOST).apply(saying, "my-etcd-0", { raftIndex: 5 }).apply(saying, "my-etcd-2", {
      raftIndex: 30,
      raftAppliedIndex: 20,
    }).snapshot;
    for (const name of ["my-etcd-0", NAME, "my-etcd-2"])
      expect(answer(given, name)).toMatchObject({ raftIndex: 30, raftAppliedIndex: 30 });
  });

  test("a lost member recovers unless it is due for replacement", () => {
    const five = cluster({ replicas: 5, down: [NAME, "my-etcd-2"] });
    const given = sickFor(five, NAME, 10_000_000);
    expect(answer(given)).toBeUndefined();
    expect(answer(given, "my-etcd-2")).toBeDefined();
  });

  test("a member keeps the release that it reports", () => {
    expect(answer(saying(cluster(), NAME, { version: "3.6.2" }))?.version).toBe("3.6.2");
  });

  test("a pod gets the fence annotation when its member must not bootstrap", () => {
    expect(annotation(withUnfencedPod(cluster(), NAME), INITIAL_CLUSTER_ANNOTATION)).toBe(FENCE);
    const learner = withArrival(cluster(), "my-etcd-3", "started");
    expect(annotation(learner, INITIAL_CLUSTER_ANNOTATION, "my-etcd-3")).toBeUndefined();
  });

  test("a learner that may start publishes its name and stays a learner", () => {
    const given = withArrival(cluster(), "my-etcd-3", "added");
    const made = arrived(given);
    expect(listIn(made).members[3]).toMatchObject({
      name: "my-etcd-3",
      clientUrls: ["http://my-etcd-3.my-etcd.foo.svc:2379"],
    });
    expect(
      listIn(made)
        .members.slice(0, 3)
        .map(({ name }) => name),
    ).toEqual(["my-etcd-0", NAME, "my-etcd-2"]);
    expect(answer(given, "my-etcd-3")).toMatchObject({ memberId: BigInt(`0x${LATER_ID}`), isLearner: true });
  });

  test("no pod is created for an intent, a foreign member or an EtcdPeer with another member ID", () => {
    expect(pod(withArrival(cluster(), "my-etcd-3", "intended"), "my-etcd-3")).toBeUndefined();
    expect(arrived(withMember(cluster(), stranger())).pods.size).toBe(3);
    expect(answer(withPeer(LOST, NAME, { spec: { memberID: "abc" } }))).toBeUndefined();
  });

  test("terminating EtcdPeers are removed, and their claims only with the cleanup finalizer", () => {
    const going = (finalizers: readonly string[] | undefined) => {
      const change = { deletionTimestamp: "2026-01-01T12:00:00Z", ...(finalizers === undefined ? {} : { finalizers }) };
      const { peers, pods, endpoints, claims } = arrived(changedPeer(cluster(), NAME, change));
      const names = peers.map(({ metadata }) => metadata.name);
      return [names, [...pods.keys()], [...endpoints.keys()], claims.map(({ metadata }) => metadata.name)];
    };
    const left = ["my-etcd-0", "my-etcd-2"];
    const all = ["my-etcd-0", NAME, "my-etcd-2"];
    expect(going([CLEANUP_FINALIZER])).toEqual([left, left, left, left]);
    expect(going([QUARANTINE_FINALIZER])).toEqual([left, left, left, all]);
    expect(going(undefined)).toEqual([left, left, left, all]);
  });
});

describe("forecast: whether a member recovers", () => {
  const cases = [
    {
      name: "a member with a container that crashes repeatedly does not recover",
      given: withCrashing(LOST, NAME, 1_000),
      comes: false,
    },
    {
      name: "a member that answers recovers, although its container crashes repeatedly",
      given: withCrashing(cluster(), NAME),
      comes: true,
    },
    {
      name: "a member that has been silent for the member timeout does not recover",
      given: silentFor(LOST, NAME, 600_000),
      comes: false,
    },
    {
      name: "a member that has been silent for less than the member timeout recovers",
      given: silentFor(LOST, NAME, 599_999),
      comes: true,
    },
    {
      name: "a member without a pod recovers, although it has been silent for the member timeout",
      given: begin(LOST).apply(silentFor, NAME, 600_000).apply(withoutPod, NAME).snapshot,
      comes: true,
    },
    {
      name: "a member that has been lost for the replacement time does not recover",
      given: sickFor(LOST, NAME, 300_000),
      comes: false,
    },
    {
      name: "a member that has been lost for less than the replacement time recovers",
      given: sickFor(LOST, NAME, 299_999),
      comes: true,
    },
    {
      name: "a member without a pod that has been lost for the replacement time does not recover",
      given: begin(LOST).apply(sickFor, NAME, 300_000).apply(withoutPod, NAME).snapshot,
      comes: false,
    },
    {
      name: "a member without a pod that has been lost for less than the replacement time recovers",
      given: begin(LOST).apply(sickFor, NAME, 299_999).apply(withoutPod, NAME).snapshot,
      comes: true,
    },
    {
      name: "a member without a pod recovers when spec.replacement.policy is Never",
      given: withoutPod({ ...sickFor(LOST, NAME, 500_000), replaceAfterMs: Number.POSITIVE_INFINITY }, NAME),
      comes: true,
    },
    {
      name: "a lost member with raft traffic to the leader recovers",
      given: { ...sickFor(LOST, NAME, 300_000), heard: new Set([LOST.peers[1]!.spec.memberID!]) },
      comes: true,
    },
  ];
  test.each(cases)("$name", ({ given, comes }) => {
    const made = pod(given);
    expect(made !== given.pods.get(NAME)).toBe(comes);
  });

  test("a participating member that has been unfit for the member timeout stays as it is", () => {
    const history = { ...sickFor(LOST, NAME, 0).histories.values().next().value!, unfitForMs: 600_000 };
    const { id } = LOST.cluster.status!.identity!.initialMembers[1]!;
    const given = { ...cluster(), histories: new Map([[id, history]]) };
    expect(pod(given)).toBe(given.pods.get(NAME));
  });
});
