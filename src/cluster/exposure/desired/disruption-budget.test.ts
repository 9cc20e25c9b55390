import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
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
  { name: "0 in a cluster of one member", given: running(cluster({ replicas: 1 })), expect: 0 },
  { name: "1 in a cluster of two members", given: running(cluster({ replicas: 2 })), expect: 1 },
  {
    name: "the quorum of two members while spec.replicas is 1",
    given: cluster({ replicas: 2, spec: { replicas: 1 } }),
    expect: 2,
  },
  {
    name: "the quorum of three members while spec.replicas is 2",
    given: cluster({ spec: { replicas: 2 } }),
    expect: 2,
  },
  {
    name: "the quorum of three members while spec.replicas is 1",
    given: cluster({ spec: { replicas: 1 } }),
    expect: 2,
  },
  {
    name: "the quorum of two members while spec.replicas is 3",
    given: cluster({ replicas: 2, spec: { replicas: 3 } }),
    expect: 2,
  },
  {
    name: "the quorum of one member while spec.replicas is 3",
    given: cluster({ replicas: 1, spec: { replicas: 3 } }),
    expect: 1,
  },
  {
    name: "the quorum of two members while spec.replicas is 0",
    given: cluster({ replicas: 2, spec: { replicas: 0 } }),
    expect: 2,
  },
  {
    name: "the quorum of two members while one of them has a recorded removal",
    given: begin(cluster({ replicas: 2, spec: { replicas: 1 } }))
      .apply(withRemoval, "my-etcd-1", "scale-down")
      .apply(running).snapshot,
    expect: 2,
  },
  {
    name: "1 while the pod of a removed second member still runs",
    given: begin(cluster({ replicas: 2, spec: { replicas: 1 } }))
      .apply(withoutMember, "my-etcd-1")
      .apply(running).snapshot,
    expect: 1,
  },
  {
    name: "1 while a second member joins the only member",
    given: begin(cluster({ replicas: 1, spec: { replicas: 2 } }))
      .apply(withArrival, "my-etcd-1", "synced")
      .apply(running).snapshot,
    expect: 1,
  },
  {
    name: "0 while the only member restarts",
    given: withTurn(wanting(NEWER, { replicas: 1 }), "my-etcd-0"),
    expect: 0,
  },
  {
    name: "all three members while one of them restarts before a scale-down to one",
    given: withTurn(wanting(NEWER, { spec: { replicas: 1 } }), "my-etcd-0"),
    expect: 3,
  },
  {
    name: "2 while one of two members restarts",
    given: withTurn(wanting(NEWER, { replicas: 2 }), "my-etcd-1"),
    expect: 2,
  },
  {
    name: "one more than a quorum while a learner runs",
    given: running(learner),
    expect: 3,
  },
  {
    name: "one more than a quorum as soon as etcd lists a learner",
    given: withArrival(grown, "my-etcd-3", "added", { peer: false }),
    expect: 3,
  },
  {
    name: "one more than a quorum for a member that may start while there is no member list",
    given: { ...withArrival(grown, "my-etcd-3", "added"), members: unknown("no leader") },
    expect: 3,
  },
  {
    name: "a quorum while an intent exists: its member cannot start",
    given: withArrival(grown, "my-etcd-3", "intended"),
    expect: 2,
  },
  {
    name: "a quorum when a learner's pod has been unschedulable for more than a minute",
    given: knownFor(stuck, LATER_ID, 60_001),
    expect: 2,
  },
  {
    name: "one more than a quorum when a learner's pod has been unschedulable for a minute",
    given: knownFor(stuck, LATER_ID, 60_000),
    expect: 3,
  },
  {
    name: "one more than a quorum while a learner's container runs after more than a minute",
    given: begin(stuck).apply(running).apply(knownFor, LATER_ID, 60_001).snapshot,
    expect: 3,
  },
  {
    name: "one more than the remaining members' quorum while a voter has a recorded removal",
    given: begin(five).apply(withRemoval, "my-etcd-4", "scale-down").apply(running).snapshot,
    expect: 4,
  },
  {
    name: "one more than the remaining members' quorum while the pod of the voter to be removed is new",
    given: begin(five)
      .apply(withRemoval, "my-etcd-4", "scale-down")
      .apply(withPod, "my-etcd-4", {
        metadata: { creationTimestamp: "2026-01-01T11:59:59Z" },
      }).snapshot,
    expect: 4,
  },
  {
    name: "a quorum when the pod of the voter to be removed has not started for an hour",
    given: begin(five)
      .apply(withRemoval, "my-etcd-4", "scale-down")
      .apply(withPod, "my-etcd-4", {
        metadata: { creationTimestamp: "2026-01-01T11:00:00Z" },
      }).snapshot,
    expect: 3,
  },
  {
    name: "one more than a quorum while the pod of a removed voter still runs",
    given: begin(five).apply(withoutMember, "my-etcd-4").apply(running).snapshot,
    expect: 4,
  },
  {
    name: "one more than a quorum while the pod of a removed voter crashes repeatedly",
    given: begin(five)
      .apply(withoutMember, "my-etcd-4")
      .apply(withPod, "my-etcd-4", {
        metadata: { creationTimestamp: "2026-01-01T11:00:00Z" },
      })
      .apply(withCrashing, "my-etcd-4").snapshot,
    expect: 4,
  },
  {
    name: "a quorum when the member to be removed is down",
    given: withRemoval(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", "replacement"),
    expect: 2,
  },
  {
    name: "a quorum without a member list when the member to be removed is down",
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
    name: "a quorum with strategy OnDelete while a restart is pending",
    given: withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-2"),
    expect: 2,
  },
  {
    name: "a quorum while a restarted member is not Ready yet",
    given: withCanary(wanting(NEWER), "my-etcd-2"),
    expect: 2,
  },
];

for (const { name, given, expect: wanted } of cases) {
  test(`disruption budget: minAvailable is ${name}`, () =>
    expect(disruptionBudget(given).spec?.minAvailable).toBe(wanted));
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
    name: "Kubernetes has observed the budget's generation",
    given: withLive({ generation: 2 }, { observedGeneration: 2 }),
    is: true,
  },
  {
    name: "Kubernetes has observed only an earlier generation of the budget",
    given: withLive({ generation: 2 }, { observedGeneration: 1 }),
    is: false,
  },
  { name: "Kubernetes has not observed the budget yet", given: withLive({ generation: 1 }, undefined), is: false },
  { name: "the budget has no generation", given: withLive({ generation: undefined }, undefined), is: true },
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
    name: "the budget's minAvailable is outdated",
    given: {
      ...withTurn(wanting(NEWER), "my-etcd-2"),
      budget: withLive({ generation: 1 }, { observedGeneration: 1 }).budget,
    },
    is: false,
  },
  {
    name: "spec.disruptionBudget.policy is None and a budget still exists",
    given: {
      ...cluster({ spec: { disruptionBudget: { policy: "None" } } }),
      budget: withLive({ generation: 2 }, undefined).budget,
    },
    is: true,
  },
  { name: "the budget does not exist", given: cluster({ with: { budget: undefined } }), is: true },
  {
    name: "the budget has another owner",
    given: withLive({ generation: 2, ownerReferences: [] }, undefined),
    is: true,
  },
];

for (const { name, given, is } of settling) {
  test(`disruption budget: when ${name}, the operator ${is ? "need not wait" : "waits"} for evictions to be limited`, () =>
    expect(holdsEvictions(given) && isBudgetSeen(given)).toBe(is));
}

test.each([
  {
    name: "unhealthyPodEvictionPolicy that another client set for three members stays",
    given: cluster(),
    policy: "AlwaysAllow",
    is: false,
  },
  {
    name: "a missing unhealthyPodEvictionPolicy is written for one member",
    given: cluster({ replicas: 1 }),
    policy: undefined,
    is: true,
  },
  {
    name: "unhealthyPodEvictionPolicy AlwaysAllow for one member stays",
    given: cluster({ replicas: 1 }),
    policy: "AlwaysAllow",
    is: false,
  },
])("disruption budget: $name", ({ given, policy, is }) => {
  const wanted = disruptionBudget(given);
  const { unhealthyPodEvictionPolicy: _, ...spec } = wanted.spec ?? {};
  const live = {
    ...wanted,
    spec: { ...spec, ...(policy === undefined ? {} : { unhealthyPodEvictionPolicy: policy }) },
  };
  expect(budgetDiffers(live as unknown as PodDisruptionBudget, wanted)).toBe(is);
});

test("letsQuorumGo: an unknown quorum may be given up with spec.replicas 1, but not with 0", () => {
  expect(letsQuorumGo(cluster({ spec: { replicas: 0 } }), 0)).toBe(false);
  expect(letsQuorumGo(cluster({ spec: { replicas: 1 } }), 0)).toBe(true);
});
