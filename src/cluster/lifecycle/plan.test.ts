import { begin } from "#kit/snapshots/begin.ts";
import { claim, claimIdentity, cluster } from "#kit/snapshots/cluster.ts";
import { withDyingClaims } from "#kit/snapshots/cluster-changes.ts";
import { NEXT_MINOR, ON_DELETE, withCanary, withTurn } from "#kit/snapshots/cluster-rolling.ts";
import { asleep, SLEEP, tired, wanted, withSleep, woken } from "#kit/snapshots/cluster-sleep.ts";
import { testPlans } from "#kit/tables/cluster-plan.ts";

// Plans during a pause, a sleep, and at rest.

testPlans("src/cluster/lifecycle", [
  { name: "does nothing for a healthy cluster", given: cluster(), expect: "settled" },
  {
    name: "does nothing for a cluster that is being deleted",
    given: cluster({ stage: "new", deleting: true }),
    expect: "settled",
  },
  {
    name: "changes nothing while the annotation pauses the cluster",
    given: cluster({ spec: { replicas: 5 }, annotations: { "etcd.improbable.io/paused": "true" } }),
    expect: "wait: paused",
  },
  {
    name: "changes nothing while spec.paused is true",
    given: cluster({ spec: { replicas: 5, paused: true } }),
    expect: "wait: paused",
  },
  { name: "puts a cluster with spec.replicas 0 to sleep", given: tired(), expect: "start-sleep: fallAsleep" },
  {
    name: "puts a cluster with spec.replicas 0 and no quorum to sleep",
    given: tired({ down: ["my-etcd-0", "my-etcd-1"] }),
    expect: "start-sleep: fallAsleep",
  },
  {
    name: "does not put a cluster to sleep when terminating claims would leave too few members with data",
    given: withDyingClaims(tired(), "my-etcd-0", "my-etcd-1"),
    expect: "settled",
  },
  {
    name: "still creates the PodDisruptionBudget when terminating claims prevent sleep",
    given: withDyingClaims({ ...tired(), budget: undefined }, "my-etcd-0", "my-etcd-1"),
    expect: "disruption-budget: createBudget",
  },
  {
    name: "undoes a pending restart before the sleep",
    given: withTurn(tired({ spec: NEXT_MINOR }), "my-etcd-2"),
    expect: "start-sleep: replacePeer my-etcd-2 fenced",
  },
  {
    name: "undoes pending restarts before the sleep also with strategy OnDelete",
    given: begin(tired({ spec: { ...NEXT_MINOR, ...ON_DELETE } }))
      .apply(withTurn, "my-etcd-0")
      .apply(withTurn, "my-etcd-1").snapshot,
    expect: "start-sleep: replacePeer my-etcd-0 fenced",
  },
  {
    name: "puts a cluster to sleep without undoing the new template of a restarted member",
    given: withCanary(tired({ spec: NEXT_MINOR }), "my-etcd-2"),
    expect: "start-sleep: fallAsleep",
  },
  {
    name: "waits after the sleep is recorded until all members have stopped",
    given: withSleep(tired(), SLEEP),
    expect: "wait: asleep",
  },
  { name: "does nothing for a sleeping cluster", given: asleep(), expect: "settled" },
  {
    name: "does nothing for a new cluster with spec.replicas 0",
    given: cluster({ stage: "new", spec: { replicas: 0 } }),
    expect: "settled",
  },
  {
    name: "adopts no claims while spec.replicas is 0",
    given: cluster({
      stage: "new",
      spec: { replicas: 0 },
      with: { claims: [claim("my-etcd-0", claimIdentity("abc", "1"))] },
    }),
    expect: "settled",
  },
  {
    name: "continues to form a cluster with a recorded identity although spec.replicas is 0",
    given: cluster({ stage: "recorded", spec: { replicas: 0 } }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "fences members that have joined before the cluster sleeps",
    given: cluster({ stage: "joined", spec: { replicas: 0 } }),
    expect: "fence: replacePeer my-etcd-0 fenced",
  },
  {
    name: "does not put a cluster to sleep during a pause",
    given: tired({ spec: { paused: true } }),
    expect: "wait: paused",
  },
  {
    name: "wakes up all five members when spec.replicas becomes 3",
    given: wanted(asleep({ replicas: 5 }), 3),
    expect: "wake-up: wakeUp",
  },
  {
    name: "puts a waking cluster to sleep again when spec.replicas is 0",
    given: withSleep(tired(), woken().cluster.status?.sleep),
    expect: "start-sleep: fallAsleep",
  },
  {
    name: "waits for all members to wake up before it scales down",
    given: woken({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }),
    expect: "wait: await-wake-up",
  },
  {
    name: "scales down without waiting for a member when the wake-up time is over",
    given: woken({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }, 600_000),
    expect: "scale-down: markRemoval my-etcd-1 scale-down",
  },
  {
    name: "scales down as usual when all members are back",
    given: woken({ replicas: 5, spec: { replicas: 3 } }),
    expect: "scale-down: markRemoval my-etcd-4 scale-down",
  },
]);
