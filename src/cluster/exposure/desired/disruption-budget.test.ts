import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, knownFor, LATER_ID, pod, withArrival, withoutMember, withRemoval } from "#kit/snapshots/cluster.ts";
import {
  NEWER,
  ON_DELETE,
  wanting,
  withCanary,
  withCrashing,
  withPod,
  withTurn,
} from "#kit/snapshots/cluster-rolling.ts";
import type { Pod, PodDisruptionBudget } from "#kube/kinds.ts";
import { budgetDiffers, disruptionBudget, holdsEvictions, isBudgetSeen, letsQuorumGo } from "./disruption-budget.ts";

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
  { name: "no member in a cluster of one", given: running(cluster({ replicas: 1 })), expect: 0 },
  { name: "one in a cluster of two", given: running(cluster({ replicas: 2 })), expect: 1 },
  { name: "the quorum of two while one is wanted", given: cluster({ replicas: 2, spec: { replicas: 1 } }), expect: 2 },
  { name: "the quorum of three while two are wanted", given: cluster({ spec: { replicas: 2 } }), expect: 2 },
  { name: "the quorum of three while one is wanted", given: cluster({ spec: { replicas: 1 } }), expect: 2 },
  {
    name: "the quorum of two while three are wanted",
    given: cluster({ replicas: 2, spec: { replicas: 3 } }),
    expect: 2,
  },
  {
    name: "the quorum of one while three are wanted",
    given: cluster({ replicas: 1, spec: { replicas: 3 } }),
    expect: 1,
  },
  {
    name: "the quorum of two while spec.replicas is 0",
    given: cluster({ replicas: 2, spec: { replicas: 0 } }),
    expect: 2,
  },
  {
    name: "the quorum of two, including a member to be removed",
    given: running(withRemoval(cluster({ replicas: 2, spec: { replicas: 1 } }), "my-etcd-1", "scale-down")),
    expect: 2,
  },
  {
    name: "one pod while that of a removed member still runs",
    given: running(withoutMember(cluster({ replicas: 2, spec: { replicas: 1 } }), "my-etcd-1")),
    expect: 1,
  },
  {
    name: "one pod while a second member joins the only one",
    given: running(withArrival(cluster({ replicas: 1, spec: { replicas: 2 } }), "my-etcd-1", "synced")),
    expect: 1,
  },
  {
    name: "no member while the only one restarts",
    given: withTurn(wanting(NEWER, { replicas: 1 }), "my-etcd-0"),
    expect: 0,
  },
  {
    name: "all three while a restarting member is to become the only one",
    given: withTurn(wanting(NEWER, { spec: { replicas: 1 } }), "my-etcd-0"),
    expect: 3,
  },
  { name: "both while one of two restarts", given: withTurn(wanting(NEWER, { replicas: 2 }), "my-etcd-1"), expect: 2 },
  {
    name: "one more than a quorum while a learner runs: its pod may be Ready",
    given: running(learner),
    expect: 3,
  },
  {
    name: "one more as soon as etcd lists the learner: its pod may become Ready at any moment",
    given: withArrival(grown, "my-etcd-3", "added", { peer: false }),
    expect: 3,
  },
  {
    name: "one more without a member list, for a member that may start and is not recorded yet",
    given: { ...withArrival(grown, "my-etcd-3", "added"), members: unknown("no leader") },
    expect: 3,
  },
  {
    name: "no more for an intended member, which cannot start",
    given: withArrival(grown, "my-etcd-3", "intended"),
    expect: 2,
  },
  {
    name: "no more for a learner without a started container: drains are possible while it is stuck",
    given: knownFor(stuck, LATER_ID, 60_001),
    expect: 2,
  },
  {
    name: "one more while it is too early to count a learner as stuck",
    given: knownFor(stuck, LATER_ID, 60_000),
    expect: 3,
  },
  {
    name: "one more for a learner that crashes repeatedly",
    given: knownFor(running(stuck), LATER_ID, 60_001),
    expect: 3,
  },
  {
    name: "one more than a quorum of the remaining members, before a voter is removed",
    given: running(withRemoval(five, "my-etcd-4", "scale-down")),
    expect: 4,
  },
  {
    name: "one more when its pod is new, and may start at any moment",
    given: withPod(withRemoval(five, "my-etcd-4", "scale-down"), "my-etcd-4", {
      metadata: { creationTimestamp: "2026-01-01T11:59:59Z" },
    }),
    expect: 4,
  },
  {
    name: "a quorum when its pod has waited longer than a restart may take",
    given: withPod(withRemoval(five, "my-etcd-4", "scale-down"), "my-etcd-4", {
      metadata: { creationTimestamp: "2026-01-01T11:00:00Z" },
    }),
    expect: 3,
  },
  {
    name: "one more just after the removal, while its pod still runs",
    given: running(withoutMember(five, "my-etcd-4")),
    expect: 4,
  },
  {
    name: "one more when the pod of a removed member crashes repeatedly, however old it is",
    given: withCrashing(
      withPod(withoutMember(five, "my-etcd-4"), "my-etcd-4", {
        metadata: { creationTimestamp: "2026-01-01T11:00:00Z" },
      }),
      "my-etcd-4",
    ),
    expect: 4,
  },
  {
    name: "a quorum when a member to be removed has no running pod",
    given: withRemoval(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", "replacement"),
    expect: 2,
  },
  {
    name: "a quorum without a member list: a recorded voter is not about to start",
    given: {
      ...withRemoval(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", "replacement"),
      members: unknown("no leader"),
    },
    expect: 2,
  },
  {
    name: "one more than a quorum while a restart is pending",
    given: withTurn(wanting(NEWER), "my-etcd-2"),
    expect: 3,
  },
  {
    name: "a quorum until the ReplicaSet has taken over the new template",
    given: withTurn(wanting(NEWER), "my-etcd-2", NEWER, { isTakenOver: false }),
    expect: 2,
  },
  {
    name: "a quorum while people restart members",
    given: withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-2"),
    expect: 2,
  },
  {
    name: "a quorum after the restart: the member's own pod is not Ready",
    given: withCanary(wanting(NEWER), "my-etcd-2"),
    expect: 2,
  },
];

for (const { name, given, expect: wanted } of cases) {
  test(`disruption budget: keeps ${name}`, () => expect(disruptionBudget(given).spec?.minAvailable).toBe(wanted));
}

/** The snapshot with this PodDisruptionBudget. */
function withLive(metadata: object, status: object | undefined): ClusterSnapshot {
  const given = cluster();
  const budget = { ...given.budget!, metadata: { ...given.budget!.metadata, ...metadata }, status };
  return { ...given, budget: budget as unknown as PodDisruptionBudget };
}

const evicting = { "my-etcd-1-abcde": "2026-01-01T12:00:00Z" };
const settling: { name: string; given: ClusterSnapshot; is: boolean }[] = [
  {
    name: "Kubernetes has observed its generation",
    given: withLive({ generation: 2 }, { observedGeneration: 2 }),
    is: true,
  },
  {
    name: "Kubernetes has observed an earlier generation",
    given: withLive({ generation: 2 }, { observedGeneration: 1 }),
    is: false,
  },
  { name: "Kubernetes has not observed it yet", given: withLive({ generation: 1 }, undefined), is: false },
  { name: "it has no generation", given: withLive({ generation: undefined }, undefined), is: true },
  {
    name: "an eviction has yet to be counted",
    given: withLive({ generation: 1 }, { observedGeneration: 1, disruptedPods: evicting }),
    is: false,
  },
  {
    name: "no eviction has yet to be counted",
    given: withLive({ generation: 1 }, { observedGeneration: 1, disruptedPods: {} }),
    is: true,
  },
  {
    name: "its number is outdated",
    given: {
      ...withTurn(wanting(NEWER), "my-etcd-2"),
      budget: withLive({ generation: 1 }, { observedGeneration: 1 }).budget,
    },
    is: false,
  },
  {
    name: "it is unwanted and still exists",
    given: {
      ...cluster({ spec: { disruptionBudget: "None" } }),
      budget: withLive({ generation: 2 }, undefined).budget,
    },
    is: true,
  },
  { name: "it does not exist", given: cluster({ with: { budget: undefined } }), is: true },
  { name: "it has another owner", given: withLive({ generation: 2, ownerReferences: [] }, undefined), is: true },
];

for (const { name, given, is } of settling) {
  test(`disruption budget: when ${name}, evictions are ${is ? "limited by it" : "not limited by it yet"}`, () =>
    expect(holdsEvictions(given) && isBudgetSeen(given)).toBe(is));
}

test.each([
  {
    name: "AlwaysAllow that another client set for three members stays",
    given: cluster(),
    policy: "AlwaysAllow",
    is: false,
  },
  {
    name: "AlwaysAllow that is missing for one member is written",
    given: cluster({ replicas: 1 }),
    policy: undefined,
    is: true,
  },
  {
    name: "AlwaysAllow for one member is correct",
    given: cluster({ replicas: 1 }),
    policy: "AlwaysAllow",
    is: false,
  },
])("the budget: $name", ({ given, policy, is }) => {
  const wanted = disruptionBudget(given);
  const { unhealthyPodEvictionPolicy: _, ...spec } = wanted.spec ?? {};
  const live = {
    ...wanted,
    spec: { ...spec, ...(policy === undefined ? {} : { unhealthyPodEvictionPolicy: policy }) },
  };
  expect(budgetDiffers(live as unknown as PodDisruptionBudget, wanted)).toBe(is);
});

test("the budget: a cluster with spec.replicas 0 keeps its quorum, also while no voter is known", () => {
  expect(letsQuorumGo(cluster({ spec: { replicas: 0 } }), 0)).toBe(false);
  expect(letsQuorumGo(cluster({ spec: { replicas: 1 } }), 0)).toBe(true);
});
