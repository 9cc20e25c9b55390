import { claim, claimIdentity, cluster } from "#kit/cluster.ts";
import { withDyingClaims } from "#kit/cluster-changes.ts";
import { testPlans } from "#kit/cluster-plan.ts";
import { NEXT_MINOR, ON_DELETE, withCanary, withTurn } from "#kit/cluster-rolling.ts";
import { asleep, SLEEP, tired, wanted, withSleep, woken } from "#kit/cluster-sleep.ts";

// What is done when nothing may be done, or nothing has to be.

testPlans("life", [
  { name: "does nothing when all is well", given: cluster(), expect: "settled" },
  {
    name: "does nothing for a cluster that is being deleted",
    given: cluster({ stage: "new", deleting: true }),
    expect: "settled",
  },
  {
    name: "waits, hands off, while it is paused",
    given: cluster({ spec: { replicas: 5 }, annotations: { "etcd.improbable.io/paused": "true" } }),
    expect: "wait: paused",
  },
  {
    name: "waits, hands off, while its spec says paused",
    given: cluster({ spec: { replicas: 5, paused: true } }),
    expect: "wait: paused",
  },
  { name: "puts a cluster to sleep of which nobody is wanted", given: tired(), expect: "fall-asleep: fallAsleep" },
  {
    name: "puts one to sleep without a quorum",
    given: tired({ down: ["my-etcd-0", "my-etcd-1"] }),
    expect: "fall-asleep: fallAsleep",
  },
  {
    name: "stops nobody whose deleted claims would leave too few with data",
    given: withDyingClaims(tired(), "my-etcd-0", "my-etcd-1"),
    expect: "settled",
  },
  {
    name: "looks after those who run on: as ever",
    given: withDyingClaims({ ...tired(), budget: undefined }, "my-etcd-0", "my-etcd-1"),
    expect: "disruption-budget: createBudget",
  },
  {
    name: "takes back first what nobody runs yet: who wakes has what it ran",
    given: withTurn(tired({ spec: NEXT_MINOR }), "my-etcd-2"),
    expect: "fall-asleep: replacePeer my-etcd-2 fenced",
  },
  {
    name: "takes it back from each where people restart members",
    given: withTurn(withTurn(tired({ spec: { ...NEXT_MINOR, ...ON_DELETE } }), "my-etcd-0"), "my-etcd-1"),
    expect: "fall-asleep: replacePeer my-etcd-0 fenced",
  },
  {
    name: "leaves who has restarted with something new as it is",
    given: withCanary(tired({ spec: NEXT_MINOR }), "my-etcd-2"),
    expect: "fall-asleep: fallAsleep",
  },
  { name: "waits until all have stopped", given: withSleep(tired(), SLEEP), expect: "wait: asleep" },
  { name: "does nothing while all sleep", given: asleep(), expect: "settled" },
  {
    name: "does nothing for a new cluster of which nobody is wanted",
    given: cluster({ stage: "new", spec: { replicas: 0 } }),
    expect: "settled",
  },
  {
    name: "takes no identity from claims while nobody is wanted",
    given: cluster({
      stage: "new",
      spec: { replicas: 0 },
      with: { claims: [claim("my-etcd-0", claimIdentity("abc", "1"))] },
    }),
    expect: "settled",
  },
  {
    name: "lets a cluster form that has begun to",
    given: cluster({ stage: "recorded", spec: { replicas: 0 } }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "fences who has joined before it sleeps",
    given: cluster({ stage: "joined", spec: { replicas: 0 } }),
    expect: "fence: replacePeer my-etcd-0 fenced",
  },
  {
    name: "puts nobody to sleep while it is paused",
    given: tired({ spec: { paused: true } }),
    expect: "wait: paused",
  },
  {
    name: "wakes all who sleep, however many are wanted",
    given: wanted(asleep({ replicas: 5 }), 3),
    expect: "wake-up: wakeUp",
  },
  {
    name: "puts to sleep again whoever is just waking",
    given: withSleep(tired(), woken().cluster.status?.sleep),
    expect: "fall-asleep: fallAsleep",
  },
  {
    name: "waits for those who slept before anybody goes",
    given: woken({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }),
    expect: "wait: await-waking",
  },
  {
    name: "gives up waiting when their time is up",
    given: woken({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }, 600_000),
    expect: "scale-down: markRemoval my-etcd-1 scale-down",
  },
  {
    name: "scales down as usual when all are back",
    given: woken({ replicas: 5, spec: { replicas: 3 } }),
    expect: "scale-down: markRemoval my-etcd-4 scale-down",
  },
]);
