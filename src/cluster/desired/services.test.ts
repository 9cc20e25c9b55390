import { expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { budgetDiffers, disruptionBudget } from "#cluster/desired/disruption-budget.ts";
import { clientService, headlessService, serviceDiffers, servicePut } from "#cluster/desired/services.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { secured, unissued } from "#kit/cluster-tls.ts";
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

const { spec: OVER_TLS } = secured().peers[0]!;
const OVER_BOTH = { ...OVER_TLS, tls: { ...OVER_TLS.tls, client: { ...OVER_TLS.tls!.client!, plaintext: true } } };
const IN_PLAIN = cluster().peers[0]!.spec;
const discovered: { of: string; given: ClusterSnapshot; port: string }[] = [
  { of: "that is made without TLS", given: cluster({ stage: "recorded" }), port: "etcd-client" },
  { of: "that is made with TLS", given: unissued({ stage: "recorded" }), port: "etcd-client-ssl" },
  { of: "that is made with TLS between members alone", given: inside("recorded"), port: "etcd-client" },
  { of: "with TLS", given: secured(), port: "etcd-client-ssl" },
  { of: "with TLS between members alone", given: inside("settled"), port: "etcd-client" },
  { of: "that goes over to TLS", given: withPeers(secured(), IN_PLAIN, IN_PLAIN, OVER_BOTH), port: "etcd-client" },
  { of: "that serves both kinds", given: withPeers(secured(), OVER_BOTH, OVER_BOTH, OVER_BOTH), port: "etcd-client" },
  {
    of: "whose others serve TLS alone",
    given: withPeers(secured(), OVER_TLS, OVER_BOTH, OVER_TLS),
    port: "etcd-client-ssl",
  },
  { of: "without a word on TLS any more", given: withPeers(cluster(), OVER_TLS), port: "etcd-client-ssl" },
];
for (const { of, given, port } of discovered) {
  test(`who looks for members of a cluster ${of} finds them by ${port}`, () => {
    expect(headlessService(given).spec?.ports).toEqual([{ ...CLIENT, name: port }, PEER]);
  });
}

/** A cluster with TLS between its members, and none towards clients. */
function inside(stage: "recorded" | "settled"): ClusterSnapshot {
  return (stage === "settled" ? secured : unissued)({ stage }, { client: { provider: "None" } });
}

/** The snapshot whose members are as these say. */
function withPeers(snapshot: ClusterSnapshot, ...specs: readonly EtcdPeer["spec"][]): ClusterSnapshot {
  const peers = specs.map((spec, n) => ({ ...snapshot.peers[n]!, spec }));
  return { ...snapshot, peers };
}

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

/** What the server adds. */
const ADDED = { clusterIP: "10.0.0.7", clusterIPs: ["10.0.0.7"], ipFamilies: ["IPv4"], sessionAffinity: "None" };

/** The Service as the server stores it, with what it adds, and with what somebody has edited. */
function live(draft: Draft<Service>, edited: object = {}): Service {
  const stored = born<Service>(draft);
  return { ...stored, spec: { ...ADDED, ...stored.spec, ...edited } } as Service;
}

const edits: { name: string; edited: object; differs: boolean }[] = [
  { name: "nothing", edited: {}, differs: false },
  { name: "a policy that is no business of ours", edited: { internalTrafficPolicy: "Local" }, differs: false },
  { name: "the selector", edited: { selector: { app: "other" } }, differs: true },
  { name: "a port", edited: { ports: [{ ...CLIENT, targetPort: 9999 }] }, differs: true },
  { name: "that it leads to members that are ready", edited: { publishNotReadyAddresses: true }, differs: true },
  { name: "its type", edited: { type: "LoadBalancer" }, differs: true },
  { name: "to which members it leads first", edited: { trafficDistribution: "PreferClose" }, differs: true },
  { name: "a further port", edited: { ports: [CLIENT, PEER] }, differs: true },
];
for (const { name, edited, differs } of edits) {
  test(`a Service of which somebody edited ${name} is ${differs ? "put right" : "left alone"}`, () => {
    const wanted = clientService(cluster());
    expect(serviceDiffers(live(wanted, edited), wanted)).toBe(differs);
  });
}

const OPEN = {
  type: "LoadBalancer",
  metadata: { labels: { team: "a" }, annotations: { "example.com/scheme": "internal" } },
  trafficDistribution: "PreferSameZone",
} as const;
const open = clientService(cluster({ spec: { clientService: OPEN } }));
const closed = clientService(cluster());

test("the client Service is as the spec asks for", () => {
  expect(open.spec).toEqual({
    type: "LoadBalancer",
    selector: SELECTOR,
    ports: [CLIENT],
    trafficDistribution: "PreferSameZone",
  });
  expect(open.metadata.labels).toEqual({ ...closed.metadata.labels, team: "a" });
  expect(open.metadata.annotations).toMatchObject({ "example.com/scheme": "internal" });
  expect(serviceDiffers(live(closed), open)).toBe(true);
  expect(serviceDiffers(live(open), closed)).toBe(true);
  expect(serviceDiffers(live(open), open)).toBe(false);
});

test("no label of the spec takes the place of the operator's own", () => {
  const metadata = { labels: { "app.kubernetes.io/managed-by": "somebody", team: "a" } };
  const wanted = clientService(cluster({ spec: { clientService: { type: "ClusterIP", metadata } } }));
  expect(wanted.metadata.labels).toEqual({ ...closed.metadata.labels, team: "a" });
});

/** The Service with these labels and annotations besides its own. */
function marked({ metadata, ...rest }: Service, labels: object, annotations: object): Service {
  return {
    ...rest,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...labels } as Record<string, string>,
      annotations: { ...metadata.annotations, ...annotations } as Record<string, string>,
    },
  };
}

test("a label or annotation of the spec that somebody changed is put right; those of others are no business of ours", () => {
  expect(serviceDiffers(marked(live(open), { other: "1" }, { "cloud.example/id": "7" }), open)).toBe(false);
  expect(serviceDiffers(marked(live(open), { team: "b" }, {}), open)).toBe(true);
  expect(serviceDiffers(marked(live(open), {}, { "example.com/scheme": "public" }), open)).toBe(true);
});

test("what the spec does not ask for any more goes, and what others have put there stays", () => {
  const { metadata } = servicePut(marked(live(open), { other: "1" }, { "cloud.example/id": "7" }), closed);
  expect(metadata.labels).toEqual({ ...closed.metadata.labels, other: "1" });
  expect(metadata.annotations).toEqual({ ...closed.metadata.annotations, "cloud.example/id": "7" });
  expect(metadata).toMatchObject({ uid: expect.any(String), resourceVersion: "200" });
});

test("the order in which labels and annotations are written means nothing", () => {
  const wish = (metadata: object) =>
    clientService(cluster({ spec: { clientService: { type: "ClusterIP", metadata } } })).metadata.annotations;
  const [a, b] = [
    { a: "1", b: "2" },
    { b: "2", a: "1" },
  ];
  expect(wish({ labels: a, annotations: a })).toEqual(wish({ labels: b, annotations: b }));
});

test("what is not asked for any more is seen, and taken away", () => {
  const [more, less] = [{ a: "1", b: "2" }, { a: "1" }].map((labels) =>
    clientService(cluster({ spec: { clientService: { type: "ClusterIP", metadata: { labels } } } })),
  );
  expect(serviceDiffers(live(more!), less!)).toBe(true);
});

test("a Service that is closed keeps nothing that nobody asked for", () => {
  expect(servicePut(live(closed, { sessionAffinity: "ClientIP" }), closed).spec).toEqual(closed.spec);
  const given = live(open, { publishNotReadyAddresses: true });
  expect(servicePut(given, open).spec).not.toHaveProperty("publishNotReadyAddresses");
});

test("what says no keys takes nothing away", () => {
  for (const text of ["what?", "7", '{"labels":7}', "[]"]) {
    const given = marked(live(closed), { other: "1" }, { "etcd.improbable.io/metadata-keys": text });
    expect(servicePut(given, closed).metadata.labels).toEqual({ ...closed.metadata.labels, other: "1" });
  }
});

test("a Service that stays open keeps how it is open; one that is closed or opened in another way does not", () => {
  const how = { loadBalancerClass: "example.com/lb", loadBalancerSourceRanges: ["192.0.2.0/24"] };
  const given = live(open, { ...how, externalIPs: ["192.0.2.1"], trafficDistribution: "PreferClose" });
  expect(servicePut(given, open).spec).toEqual({ ...how, ...ADDED, ...open.spec });
  expect(servicePut(given, closed).spec).toEqual(closed.spec);
  const byPort = clientService(cluster({ spec: { clientService: { type: "NodePort" } } }));
  expect(servicePut(given, byPort).spec).toEqual(byPort.spec);
  const undirected = clientService(cluster({ spec: { clientService: { type: "LoadBalancer" } } }));
  expect(servicePut(given, undirected).spec).toEqual({ ...how, ...ADDED, ...undirected.spec });
});

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
