import { expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { networkPolicy } from "#cluster/exposure/desired/network-policy.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { born, cluster } from "#kit/snapshots/cluster.ts";
import { withoutPeers } from "#kit/snapshots/cluster-changes.ts";
import { asking, MONITOR, monitoring } from "#kit/snapshots/cluster-monitoring.ts";
import { admitting, RESTRICTED as WISH } from "#kit/snapshots/cluster-network.ts";
import { NEWER, wanting, withTurn } from "#kit/snapshots/cluster-rolling.ts";
import { testPlans } from "#kit/tables/cluster-plan.ts";
import type { NetworkPolicy, PodDisruptionBudget, Service } from "#kube/kinds.ts";

// Plans for Services, PodDisruptionBudgets, NetworkPolicies and PodMonitors.

const RESTRICTED = { spec: { networkPolicy: WISH } };
const POLICY: NetworkPolicy = born(networkPolicy(cluster(RESTRICTED)));
const FOREIGN_POLICY = { ...POLICY, metadata: { ...POLICY.metadata, ownerReferences: [] } };
const MISSPELT = {
  spec: { networkPolicy: admitting([{ podSelector: { matchlabels: {} } }]) },
};
const NO_BUDGET = { disruptionBudget: { policy: "None" } } as const;
const { headlessService } = cluster();
const foreignService = born<Service>({
  ...headlessService!,
  metadata: { ...headlessService!.metadata, ownerReferences: [] },
});

/** A budget that the operator has not created, and that selects the members. */
function anotherBudget(name: string): PodDisruptionBudget {
  const { metadata, spec } = cluster().budget!;
  return {
    ...cluster().budget!,
    metadata: { ...metadata, name, ownerReferences: [] },
    spec: { selector: spec!.selector! },
  };
}

const DELETE = "Delete of-the-policy, or set spec.disruptionBudget.policy: None";
const BOTH = "The PodDisruptionBudgets my-etcd, of-the-policy select members' pods";
test.each<[string, ClusterSnapshot, readonly (RegExp | string)[]]>([
  ["names both and the remedy", cluster({ with: { otherBudgets: [anotherBudget("of-the-policy")] } }), [BOTH, DELETE]],
  ["is also given during a pause", cluster({ spec: { paused: true }, with: { otherBudgets: [anotherBudget("of-the-policy")] } }), [BOTH, DELETE]],
  ["names three and counts the rest", cluster({ with: { otherBudgets: ["e", "d", "c", "b", "a"].map(anotherBudget) } }), ["The PodDisruptionBudgets my-etcd, a, b, c, and 2 more select", "Delete the others. To keep one of them instead"]],
  ["is given for two others without the operator's", cluster({ spec: NO_BUDGET, with: { budget: undefined, otherBudgets: ["a", "b"].map(anotherBudget) } }), ["The PodDisruptionBudgets a, b select", "Keep only one of them."]],
  ["is given for one of the operator's name with another owner", cluster({ with: { budget: anotherBudget("my-etcd"), otherBudgets: ["my-etcd", "a"].map(anotherBudget) } }), ["The PodDisruptionBudgets a, my-etcd select"]],
  ["is not given for one budget of another owner", cluster({ spec: NO_BUDGET, with: { budget: undefined, otherBudgets: [anotherBudget("a")] } }), []],
  ["is not given for the operator's alone", cluster(), []],
])("a notice about a second PodDisruptionBudget %s", (_, given, texts) => {
  const plan = planCluster(given);
  const notice = plan.reports?.find(({ rule }) => rule === "second-budget")?.because;
  if (texts.length === 0) expect(notice).toBeUndefined();
  for (const text of texts) expect(notice).toContain(text);
  const ready = clusterStatus(given, plan).conditions?.find(({ type }) => type === "Ready");
  if (ready?.status === "True" && notice !== undefined) expect(ready.message).toContain(notice);
}); // biome-ignore format: a table

test("Ready stays True with a second PodDisruptionBudget, and its message names it", () => {
  const given = cluster({ with: { otherBudgets: [anotherBudget("of-the-policy")] } });
  const ready = clusterStatus(given, planCluster(given)).conditions?.find(({ type }) => type === "Ready");
  expect([ready?.status, ready?.message]).toEqual(["True", expect.stringContaining(BOTH)]);
});

testPlans("src/cluster/exposure", [
  {
    name: "creates a PodMonitor when the spec asks for it",
    given: monitoring(absent),
    expect: "pod-monitor: createMonitor",
  },
  {
    name: "creates no PodMonitor before the condition Monitored is recorded",
    given: { ...monitoring(absent), cluster: asking.cluster },
    expect: "settled",
  },
  {
    name: "creates no PodMonitor when the API server does not serve the kind",
    given: monitoring({ is: "notServed" }),
    expect: "settled",
  },
  {
    name: "creates no PodMonitor before the API server was asked for it",
    given: monitoring(undefined),
    expect: "settled",
  },
  {
    name: "creates no PodMonitor when the API server did not answer",
    given: monitoring(unknown("no answer")),
    expect: "settled",
  },
  { name: "leaves a correct PodMonitor alone", given: monitoring(present(MONITOR)), expect: "settled" },
  {
    name: "corrects an edited PodMonitor",
    given: monitoring(present({ ...MONITOR, spec: { ...MONITOR.spec!, podMetricsEndpoints: [] } })),
    expect: "pod-monitor: replaceMonitor",
  },
  {
    name: "does not take over a PodMonitor with another owner",
    given: monitoring(present({ ...MONITOR, metadata: { ...MONITOR.metadata, ownerReferences: [] } })),
    expect: "settled",
  },
  {
    name: "deletes an unwanted PodMonitor",
    given: monitoring(present(MONITOR), { podMonitor: { enabled: false } }),
    expect: "pod-monitor: deleteMonitor",
  },
  {
    name: "does not delete a PodMonitor that is already being deleted",
    given: monitoring(
      present({ ...MONITOR, metadata: { ...MONITOR.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } }),
      { podMonitor: { enabled: false } },
    ),
    expect: "settled",
  },
  {
    name: "does not delete a PodMonitor with another owner",
    given: monitoring(present({ ...MONITOR, metadata: { ...MONITOR.metadata, ownerReferences: [] } }), {
      podMonitor: { enabled: false },
    }),
    expect: "settled",
  },
  {
    name: "does not delete a missing PodMonitor",
    given: monitoring(absent, { podMonitor: { enabled: false } }),
    expect: "settled",
  },
  {
    name: "creates a NetworkPolicy before the members",
    given: cluster({ ...RESTRICTED, stage: "recorded", with: { headlessService } }),
    expect: "network-policy: createNetworkPolicy",
  },
  {
    name: "creates no member with a NetworkPolicy of another owner",
    given: cluster({ ...RESTRICTED, stage: "recorded", with: { headlessService, networkPolicy: FOREIGN_POLICY } }),
    expect: "warn: await-network-policy",
  },
  {
    name: "creates no member while spec.networkPolicy is invalid",
    given: cluster({ ...MISSPELT, stage: "recorded", with: { headlessService } }),
    expect: "warn: await-network-policy",
  },
  {
    name: "creates members once a correct NetworkPolicy exists",
    given: cluster({ ...RESTRICTED, stage: "recorded", with: { headlessService, networkPolicy: POLICY } }),
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  {
    name: "recreates EtcdPeers without a NetworkPolicy while another EtcdPeer exists",
    given: withoutPeers(
      cluster({ ...RESTRICTED, with: { headlessService, networkPolicy: FOREIGN_POLICY } }),
      "my-etcd-1",
      "my-etcd-2",
    ),
    expect: "recreate-peer: createPeer my-etcd-1 fenced",
  },
  {
    name: "creates a NetworkPolicy when the spec of an existing cluster asks for it",
    given: cluster(RESTRICTED),
    expect: "network-policy: createNetworkPolicy",
  },
  {
    name: "leaves a correct NetworkPolicy alone",
    given: cluster({ ...RESTRICTED, with: { networkPolicy: POLICY } }),
    expect: "settled",
  },
  {
    name: "corrects a NetworkPolicy that was edited to allow all connections",
    given: cluster({ ...RESTRICTED, with: { networkPolicy: { ...POLICY, spec: { ...POLICY.spec!, ingress: [{}] } } } }),
    expect: "network-policy: replaceNetworkPolicy",
  },
  {
    name: "creates no NetworkPolicy from an invalid spec.networkPolicy",
    given: cluster(MISSPELT),
    expect: "settled",
  },
  {
    name: "keeps an existing NetworkPolicy when spec.networkPolicy is invalid",
    given: cluster({ ...MISSPELT, with: { networkPolicy: POLICY } }),
    expect: "settled",
  },
  {
    name: "does not start a cluster with an invalid spec.networkPolicy",
    given: cluster({ ...MISSPELT, stage: "new" }),
    expect: "warn: refused-spec",
  },
  {
    name: "does not take over a NetworkPolicy with another owner",
    given: cluster({ ...RESTRICTED, with: { networkPolicy: FOREIGN_POLICY } }),
    expect: "settled",
  },
  {
    name: "deletes an unwanted NetworkPolicy",
    given: cluster({ with: { networkPolicy: POLICY } }),
    expect: "network-policy: deleteNetworkPolicy",
  },
  {
    name: "does not delete a NetworkPolicy with another owner",
    given: cluster({ with: { networkPolicy: FOREIGN_POLICY } }),
    expect: "settled",
  },
  {
    name: "does not delete a NetworkPolicy that is already being deleted",
    given: cluster({
      with: {
        networkPolicy: { ...POLICY, metadata: { ...POLICY.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } },
      },
    }),
    expect: "settled",
  },
  {
    name: "creates the headless Service before the EtcdPeers",
    given: cluster({ stage: "recorded" }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "creates the client Service after the EtcdPeers",
    given: cluster({ stage: "starting", with: { clientService: undefined } }),
    expect: "client-service: createService my-etcd-client",
  },
  {
    name: "creates the PodDisruptionBudget after the EtcdPeers",
    given: cluster({ stage: "starting", with: { budget: undefined } }),
    expect: "disruption-budget: createBudget",
  },
  {
    name: "recreates a deleted Service",
    given: cluster({ with: { headlessService: undefined } }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "corrects a Service without the hash of the wanted spec",
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
    name: "corrects a Service with another selector",
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
    name: "changes the type of the client Service when the spec asks for LoadBalancer",
    given: cluster({ spec: { clientService: { spec: { type: "LoadBalancer" } } } }),
    expect: "client-service: replaceService my-etcd-client",
  },
  {
    name: "corrects a PodDisruptionBudget that was edited to minAvailable 0",
    given: cluster({
      with: { budget: { ...cluster().budget!, spec: { ...cluster().budget!.spec, minAvailable: 0 } } },
    }),
    expect: "disruption-budget: replaceBudget",
  },
  {
    name: "deletes the PodDisruptionBudget when spec.disruptionBudget.policy is None",
    given: cluster({ spec: NO_BUDGET }),
    expect: "disruption-budget: deleteBudget",
  },
  {
    name: "creates no PodDisruptionBudget when spec.disruptionBudget.policy is None",
    given: cluster({ spec: NO_BUDGET, with: { budget: undefined } }),
    expect: "settled",
  },
  {
    name: "acts as before when a second PodDisruptionBudget selects the members",
    given: cluster({ with: { otherBudgets: [anotherBudget("of-the-policy")] } }),
    expect: "settled",
  },
  {
    name: "restarts members without a PodDisruptionBudget when spec.disruptionBudget.policy is None",
    given: withTurn(wanting(NEWER, { spec: NO_BUDGET, with: { budget: undefined } }), "my-etcd-2"),
    expect: "restart-member: restartPod",
  },
  {
    name: "scales up a cluster with a recorded identity although the client Service has another owner",
    given: cluster({ with: { clientService: foreignService }, spec: { replicas: 5 } }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
]);
