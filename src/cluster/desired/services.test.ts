import { expect, test } from "vitest";
import { budgetDiffers, disruptionBudget } from "#cluster/desired/disruption-budget.ts";
import { clientService, headlessService, serviceDiffers } from "#cluster/desired/services.ts";
import type { Draft, KubeObject, PodDisruptionBudget, Service } from "#kube/kinds.ts";
import { born, cluster } from "../../../test/kit/cluster.ts";

const SELECTOR = {
  "app.kubernetes.io/name": "etcd",
  "etcd.improbable.io/cluster-name": "my-etcd",
  "app.kubernetes.io/component": "member",
};
const CLIENT = { name: "etcd-client", port: 2379, targetPort: 2379, protocol: "TCP" };
const PEER = { name: "etcd-peer", port: 2380, targetPort: 2380, protocol: "TCP" };

/** What is the same on everything that goes with the cluster. */
function expectOurs({ metadata }: Draft<KubeObject>, name: string): void {
  expect(metadata).toEqual({
    namespace: "foo",
    name,
    labels: {
      "app.kubernetes.io/name": "etcd",
      "app.kubernetes.io/managed-by": "etcd-cluster-operator",
      "etcd.improbable.io/cluster-name": "my-etcd",
    },
    annotations: { "etcd.improbable.io/applied-hash": expect.stringMatching(/^\S{8,}$/) },
    ownerReferences: [expect.objectContaining({ kind: "EtcdCluster", uid: "uid-of-cluster", controller: true })],
  });
}

test("members find each other by name before they are ready", () => {
  const service = headlessService(cluster());
  expectOurs(service, "my-etcd");
  expect(service.spec).toEqual({
    clusterIP: "None",
    publishNotReadyAddresses: true,
    selector: SELECTOR,
    ports: [CLIENT, PEER],
  });
});

test("clients get one address, and only members that are ready behind it", () => {
  const service = clientService(cluster());
  expectOurs(service, "my-etcd-client");
  expect(service.spec).toEqual({ type: "ClusterIP", selector: SELECTOR, ports: [CLIENT] });
});

for (const [replicas, minAvailable] of [
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 3],
  [5, 3],
  [7, 4],
] as const) {
  test(`drains leave ${minAvailable} of ${replicas} members`, () => {
    const budget = disruptionBudget(cluster({ replicas }));
    expectOurs(budget, "my-etcd");
    expect(budget.spec).toEqual({ minAvailable, selector: { matchLabels: SELECTOR } });
  });
}

test("what drains leave is counted by the members that there are, not by those that are wanted", () => {
  expect(disruptionBudget(cluster({ replicas: 5, spec: { replicas: 3 } })).spec?.minAvailable).toBe(3);
});

/** The Service as the server stores it, with what it adds, and with what somebody has edited. */
function live(draft: Draft<Service>, edited: object = {}): Service {
  const added = { clusterIP: "10.0.0.7", clusterIPs: ["10.0.0.7"], ipFamilies: ["IPv4"], sessionAffinity: "None" };
  const stored = born<Service>(draft);
  return { ...stored, spec: { ...added, ...stored.spec, ...edited } } as Service;
}

const edits: { name: string; edited: object; differs: boolean }[] = [
  { name: "nothing", edited: {}, differs: false },
  { name: "a policy that is no business of ours", edited: { internalTrafficPolicy: "Local" }, differs: false },
  { name: "the selector", edited: { selector: { app: "other" } }, differs: true },
  { name: "a port", edited: { ports: [{ ...CLIENT, targetPort: 9999 }] }, differs: true },
  { name: "that it leads to members that are ready", edited: { publishNotReadyAddresses: true }, differs: true },
  { name: "a further port", edited: { ports: [CLIENT, PEER] }, differs: true },
];
for (const { name, edited, differs } of edits) {
  test(`a Service of which somebody edited ${name} is ${differs ? "put right" : "left alone"}`, () => {
    const wanted = clientService(cluster());
    expect(serviceDiffers(live(wanted, edited), wanted)).toBe(differs);
  });
}

test("a headless Service that is none any more is put right", () => {
  const wanted = headlessService(cluster());
  expect(serviceDiffers(live(wanted), wanted)).toBe(false);
  expect(serviceDiffers(live(wanted, { publishNotReadyAddresses: false }), wanted)).toBe(true);
  expect(serviceDiffers(live(wanted, { clusterIP: "10.0.0.7" }), wanted)).toBe(true);
});

test("a budget that somebody loosened is put right", () => {
  const wanted = disruptionBudget(cluster());
  const stored = born<PodDisruptionBudget>(wanted);
  expect(budgetDiffers(stored, wanted)).toBe(false);
  expect(budgetDiffers({ ...stored, spec: { ...stored.spec, minAvailable: 0 } }, wanted)).toBe(true);
});
