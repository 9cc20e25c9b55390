import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { disruptionBudget, holdsEvictions, isBudgetSeen } from "#cluster/desired/disruption-budget.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, knownFor, LATER_ID, pod, withArrival, withoutMember, withRemoval } from "#kit/cluster.ts";
import { NEWER, ON_DELETE, wanting, withCanary, withCrashing, withPod, withTurn } from "#kit/cluster-rolling.ts";
import type { Pod, PodDisruptionBudget } from "#kube/kinds.ts";

/** The snapshot in which every container runs. */
function running(snapshot: ClusterSnapshot): ClusterSnapshot {
  const pods = [...snapshot.pods].map(([name, pod]): [string, Pod] => {
    const containerStatuses = [{ name: "etcd", state: { running: {} } }];
    return [name, { ...pod, status: { ...pod.status, containerStatuses } } as unknown as Pod];
  });
  return { ...snapshot, pods: new Map(pods) };
}

const five = cluster({ replicas: 5 });
const grown = cluster({ spec: { replicas: 4 } });
const learner = withArrival(grown, "my-etcd-3", "synced");
const unscheduled = {
  ...pod("my-etcd-3", { ready: false }),
  status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }] },
} as unknown as Pod;
const stuck = { ...learner, pods: new Map(learner.pods).set("my-etcd-3", unscheduled) };

const cases: { name: string; given: ClusterSnapshot; expect: number }[] = [
  { name: "a quorum of the voters", given: running(five), expect: 3 },
  { name: "the only member of a cluster of one", given: running(cluster({ replicas: 1 })), expect: 1 },
  {
    name: "one more than a quorum while a learner runs, whose pod is ready like any other",
    given: running(learner),
    expect: 3,
  },
  {
    name: "the same as soon as etcd lists the learner: afterwards its pod may become ready at any moment",
    given: withArrival(grown, "my-etcd-3", "added", { peer: false }),
    expect: 3,
  },
  {
    name: "the same while etcd cannot be asked, for a member that may start and is not on record yet",
    given: { ...withArrival(grown, "my-etcd-3", "added"), members: unknown("no leader") },
    expect: 3,
  },
  {
    name: "no more for an intent, of which nothing may start",
    given: withArrival(grown, "my-etcd-3", "intended"),
    expect: 2,
  },
  {
    name: "no more for a learner whose container has never run: drains go on while it is stuck",
    given: knownFor(stuck, LATER_ID, 60_001),
    expect: 2,
  },
  {
    name: "one more while it is too early to call it stuck",
    given: knownFor(stuck, LATER_ID, 60_000),
    expect: 3,
  },
  {
    name: "one more for a learner whose container has run and ends again and again",
    given: knownFor(running(stuck), LATER_ID, 60_001),
    expect: 3,
  },
  {
    name: "one more than a quorum of those who stay, before a voter is removed",
    given: running(withRemoval(five, "my-etcd-4", "scale-down")),
    expect: 4,
  },
  {
    name: "the same when its pod is new, and may start any moment although the kubelet has told of nothing",
    given: withPod(withRemoval(five, "my-etcd-4", "scale-down"), "my-etcd-4", {
      metadata: { creationTimestamp: "2026-01-01T11:59:59Z" },
    }),
    expect: 4,
  },
  {
    name: "a quorum when its pod has been waiting for longer than a restart may take",
    given: withPod(withRemoval(five, "my-etcd-4", "scale-down"), "my-etcd-4", {
      metadata: { creationTimestamp: "2026-01-01T11:00:00Z" },
    }),
    expect: 3,
  },
  {
    name: "the same right after it was removed, while its pod still runs",
    given: running(withoutMember(five, "my-etcd-4")),
    expect: 4,
  },
  {
    name: "the same when it ends again and again, however old its pod is",
    given: withCrashing(
      withPod(withoutMember(five, "my-etcd-4"), "my-etcd-4", {
        metadata: { creationTimestamp: "2026-01-01T11:00:00Z" },
      }),
      "my-etcd-4",
    ),
    expect: 4,
  },
  {
    name: "a quorum still, when who is to be removed has no pod that runs",
    given: withRemoval(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", "replacement"),
    expect: 2,
  },
  {
    name: "the same while etcd cannot be asked: who is on record as a voter is none that may start any moment",
    given: {
      ...withRemoval(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", "replacement"),
      members: unknown("no leader"),
    },
    expect: 2,
  },
  {
    name: "one more than a quorum while a member is about to restart",
    given: withTurn(wanting(NEWER), "my-etcd-2"),
    expect: 3,
  },
  {
    name: "a quorum until its ReplicaSet has taken over what it is to run",
    given: withTurn(wanting(NEWER), "my-etcd-2", NEWER, { isTakenOver: false }),
    expect: 2,
  },
  {
    name: "a quorum while members wait for people to restart them",
    given: withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-2"),
    expect: 2,
  },
  {
    name: "a quorum again once it has restarted: its own pod is not ready",
    given: withCanary(wanting(NEWER), "my-etcd-2"),
    expect: 2,
  },
];

for (const { name, given, expect: wanted } of cases) {
  test(`disruption budget: keeps ${name}`, () => expect(disruptionBudget(given).spec?.minAvailable).toBe(wanted));
}

/** The snapshot whose budget is like this. */
function withLive(metadata: object, status: object | undefined): ClusterSnapshot {
  const given = cluster();
  const budget = { ...given.budget!, metadata: { ...given.budget!.metadata, ...metadata }, status };
  return { ...given, budget: budget as unknown as PodDisruptionBudget };
}

const evicting = { "my-etcd-1-abcde": "2026-01-01T12:00:00Z" };
const settling: { name: string; given: ClusterSnapshot; is: boolean }[] = [
  { name: "Kubernetes has seen it", given: withLive({ generation: 2 }, { observedGeneration: 2 }), is: true },
  {
    name: "Kubernetes has seen the one before",
    given: withLive({ generation: 2 }, { observedGeneration: 1 }),
    is: false,
  },
  { name: "Kubernetes has seen none yet", given: withLive({ generation: 1 }, undefined), is: false },
  { name: "it has no generation", given: withLive({ generation: undefined }, undefined), is: true },
  {
    name: "an eviction has yet to be counted",
    given: withLive({ generation: 1 }, { observedGeneration: 1, disruptedPods: evicting }),
    is: false,
  },
  {
    name: "none has",
    given: withLive({ generation: 1 }, { observedGeneration: 1, disruptedPods: {} }),
    is: true,
  },
  {
    name: "it does not say yet that one more must stay",
    given: {
      ...withTurn(wanting(NEWER), "my-etcd-2"),
      budget: withLive({ generation: 1 }, { observedGeneration: 1 }).budget,
    },
    is: false,
  },
  {
    name: "nobody wants it, and it is still there",
    given: {
      ...cluster({ spec: { disruptionBudget: "None" } }),
      budget: withLive({ generation: 2 }, undefined).budget,
    },
    is: true,
  },
  { name: "there is none", given: cluster({ with: { budget: undefined } }), is: true },
  { name: "it is somebody else's", given: withLive({ generation: 2, ownerReferences: [] }, undefined), is: true },
];

for (const { name, given, is } of settling) {
  test(`disruption budget: when ${name}, evictions are ${is ? "held back as it says" : "not held back yet"}`, () =>
    expect(holdsEvictions(given) && isBudgetSeen(given)).toBe(is));
}
