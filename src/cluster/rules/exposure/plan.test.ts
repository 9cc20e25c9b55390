import { absent, present, unknown } from "#base/observed.ts";
import { networkPolicy } from "#cluster/desired/network-policy.ts";
import { born, cluster } from "#kit/cluster.ts";
import { withoutPeers } from "#kit/cluster-changes.ts";
import { asking, MONITOR, monitoring } from "#kit/cluster-monitoring.ts";
import { testPlans } from "#kit/cluster-plan.ts";
import { NEWER, wanting, withTurn } from "#kit/cluster-rolling.ts";
import type { NetworkPolicy, Service } from "#kube/kinds.ts";

// What clients and evictions meet.

const RESTRICTED = { spec: { networkPolicy: { enabled: true } } };
const POLICY: NetworkPolicy = born(networkPolicy(cluster(RESTRICTED)));
const FOREIGN_POLICY = { ...POLICY, metadata: { ...POLICY.metadata, ownerReferences: [] } };
const MISSPELT = {
  spec: { networkPolicy: { enabled: true, clients: [{ podSelector: { matchlabels: {} } }] as never } },
};
const NO_BUDGET = { disruptionBudget: "None" } as const;
const { headlessService } = cluster();
const foreignService = born<Service>({
  ...headlessService!,
  metadata: { ...headlessService!.metadata, ownerReferences: [] },
});

testPlans("exposure", [
  { name: "makes a PodMonitor that is asked for", given: monitoring(absent), expect: "pod-monitor: createMonitor" },
  {
    name: "makes none before that is on record: else nobody would know of it when it is not wanted any more",
    given: { ...monitoring(absent), cluster: asking.cluster },
    expect: "settled",
  },
  { name: "makes none where the kind is not served", given: monitoring({ is: "notServed" }), expect: "settled" },
  { name: "makes none while nobody has looked", given: monitoring(undefined), expect: "settled" },
  { name: "nor when the look failed", given: monitoring(unknown("no answer")), expect: "settled" },
  { name: "leaves a PodMonitor alone that is as wanted", given: monitoring(present(MONITOR)), expect: "settled" },
  {
    name: "puts right what somebody has edited",
    given: monitoring(present({ ...MONITOR, spec: { ...MONITOR.spec!, podMetricsEndpoints: [] } })),
    expect: "pod-monitor: replaceMonitor",
  },
  {
    name: "takes nobody's PodMonitor over",
    given: monitoring(present({ ...MONITOR, metadata: { ...MONITOR.metadata, ownerReferences: [] } })),
    expect: "settled",
  },
  {
    name: "deletes the PodMonitor that is not wanted any more",
    given: monitoring(present(MONITOR), { podMonitor: false }),
    expect: "pod-monitor: deleteMonitor",
  },
  {
    name: "does not delete it twice",
    given: monitoring(
      present({ ...MONITOR, metadata: { ...MONITOR.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } }),
      { podMonitor: false },
    ),
    expect: "settled",
  },
  {
    name: "nor somebody else's",
    given: monitoring(present({ ...MONITOR, metadata: { ...MONITOR.metadata, ownerReferences: [] } }), {
      podMonitor: false,
    }),
    expect: "settled",
  },
  { name: "nor one that is gone", given: monitoring(absent, { podMonitor: false }), expect: "settled" },
  {
    name: "says who may reach the members before there are any",
    given: cluster({ ...RESTRICTED, stage: "recorded", with: { headlessService } }),
    expect: "network-policy: createNetworkPolicy",
  },
  {
    name: "makes no member beside a NetworkPolicy of somebody else",
    given: cluster({ ...RESTRICTED, stage: "recorded", with: { headlessService, networkPolicy: FOREIGN_POLICY } }),
    expect: "warn: await-network-policy",
  },
  {
    name: "nor without the one that would be made from what is refused",
    given: cluster({ ...MISSPELT, stage: "recorded", with: { headlessService } }),
    expect: "warn: await-network-policy",
  },
  {
    name: "makes members behind the one that is asked for",
    given: cluster({ ...RESTRICTED, stage: "recorded", with: { headlessService, networkPolicy: POLICY } }),
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  {
    name: "waits for it before the first member alone: who is lost beside the last one comes back without",
    given: withoutPeers(
      cluster({ ...RESTRICTED, with: { headlessService, networkPolicy: FOREIGN_POLICY } }),
      "my-etcd-1",
      "my-etcd-2",
    ),
    expect: "restore-peer: createPeer my-etcd-1 fenced",
  },
  {
    name: "makes a NetworkPolicy that is asked for",
    given: cluster(RESTRICTED),
    expect: "network-policy: createNetworkPolicy",
  },
  {
    name: "leaves it alone when it is as wanted",
    given: cluster({ ...RESTRICTED, with: { networkPolicy: POLICY } }),
    expect: "settled",
  },
  {
    name: "puts it right when somebody has opened it",
    given: cluster({ ...RESTRICTED, with: { networkPolicy: { ...POLICY, spec: { ...POLICY.spec!, ingress: [{}] } } } }),
    expect: "network-policy: replaceNetworkPolicy",
  },
  {
    name: "makes none from what it does not understand: it would let everybody in",
    given: cluster(MISSPELT),
    expect: "settled",
  },
  {
    name: "and leaves the one that is there",
    given: cluster({ ...MISSPELT, with: { networkPolicy: POLICY } }),
    expect: "settled",
  },
  {
    name: "nor begins a cluster with it",
    given: cluster({ ...MISSPELT, stage: "new" }),
    expect: "warn: refused-spec",
  },
  {
    name: "takes nobody's NetworkPolicy over",
    given: cluster({ ...RESTRICTED, with: { networkPolicy: FOREIGN_POLICY } }),
    expect: "settled",
  },
  {
    name: "deletes it when nobody wants it any more",
    given: cluster({ with: { networkPolicy: POLICY } }),
    expect: "network-policy: deleteNetworkPolicy",
  },
  { name: "but not somebody else's", given: cluster({ with: { networkPolicy: FOREIGN_POLICY } }), expect: "settled" },
  {
    name: "nor twice",
    given: cluster({
      with: {
        networkPolicy: { ...POLICY, metadata: { ...POLICY.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } },
      },
    }),
    expect: "settled",
  },
  {
    name: "makes names resolvable before members",
    given: cluster({ stage: "recorded" }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "makes the client Service after the members",
    given: cluster({ stage: "starting", with: { clientService: undefined } }),
    expect: "client-service: createService my-etcd-client",
  },
  {
    name: "makes the budget after the members",
    given: cluster({ stage: "starting", with: { budget: undefined } }),
    expect: "disruption-budget: createBudget",
  },
  {
    name: "puts a deleted Service back",
    given: cluster({ with: { headlessService: undefined } }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "repairs a Service that was made from another draft",
    given: cluster({
      with: {
        clientService: born<Service>({
          ...cluster().clientService!,
          metadata: { ...cluster().clientService!.metadata, annotations: {} },
        }),
      },
    }),
    expect: "client-service: replaceService my-etcd-client",
  },
  {
    name: "puts a Service back that somebody led elsewhere",
    given: cluster({
      with: {
        clientService: {
          ...cluster().clientService!,
          spec: { ...cluster().clientService!.spec, selector: { app: "other" } },
        },
      },
    }),
    expect: "client-service: replaceService my-etcd-client",
  },
  {
    name: "opens the client Service as soon as somebody asks for it",
    given: cluster({ spec: { clientService: { type: "LoadBalancer" } } }),
    expect: "client-service: replaceService my-etcd-client",
  },
  {
    name: "puts a budget back that somebody loosened",
    given: cluster({
      with: { budget: { ...cluster().budget!, spec: { ...cluster().budget!.spec, minAvailable: 0 } } },
    }),
    expect: "disruption-budget: replaceBudget",
  },
  {
    name: "deletes the budget when none is wanted",
    given: cluster({ spec: NO_BUDGET }),
    expect: "disruption-budget: deleteBudget",
  },
  { name: "makes none then", given: cluster({ spec: NO_BUDGET, with: { budget: undefined } }), expect: "settled" },
  {
    name: "restarts members without waiting for one then",
    given: withTurn(wanting(NEWER, { spec: NO_BUDGET, with: { budget: undefined } }), "my-etcd-2"),
    expect: "restart-member: restartPod",
  },
  {
    name: "a Service of somebody else is in nobody's way once the cluster is on record",
    given: cluster({ with: { clientService: foreignService }, spec: { replicas: 5 } }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
]);
