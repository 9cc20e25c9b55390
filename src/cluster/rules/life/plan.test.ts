import { cluster } from "#kit/cluster.ts";
import { testPlans } from "#kit/cluster-plan.ts";

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
]);
