import { expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { born, cluster } from "#kit/snapshots/cluster.ts";
import { secured, unissued } from "#kit/snapshots/cluster-tls.ts";
import type { Draft, KubeObject, PodDisruptionBudget, Service } from "#kube/kinds.ts";
import { budgetDiffers, disruptionBudget } from "./disruption-budget.ts";
import { clientService, headlessService, serviceDiffers, servicePut } from "./services.ts";

const SELECTOR = {
  "app.kubernetes.io/name": "etcd",
  "etcd.improbable.io/cluster-name": "my-etcd",
  "app.kubernetes.io/component": "member",
};
const CLIENT = { name: "etcd-client", port: 2379, targetPort: 2379, protocol: "TCP" };
const PEER = { name: "etcd-peer", port: 2380, targetPort: 2380, protocol: "TCP" };

/** Expects the metadata that all objects of the cluster have. */
function expectOurs({ metadata }: Draft<KubeObject>, name: string): void {
  expect(metadata).toEqual({
    namespace: "foo",
    name,
    labels: {
      "app.kubernetes.io/name": "etcd",
      "app.kubernetes.io/instance": "my-etcd",
      "app.kubernetes.io/managed-by": "etcd-cluster-operator",
      "etcd.improbable.io/cluster-name": "my-etcd",
    },
    annotations: { "etcd.improbable.io/applied-hash": expect.stringMatching(/^\S{8,}$/) },
    ownerReferences: [expect.objectContaining({ kind: "EtcdCluster", uid: "uid-of-cluster", controller: true })],
  });
}

test("the headless Service publishes members before they are Ready", () => {
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
  { of: "that forms without TLS", given: cluster({ stage: "recorded" }), port: "etcd-client" },
  { of: "that forms with TLS", given: unissued({ stage: "recorded" }), port: "etcd-client-ssl" },
  { of: "that forms with peer TLS only", given: inside("recorded"), port: "etcd-client" },
  { of: "with TLS", given: secured(), port: "etcd-client-ssl" },
  { of: "with peer TLS only", given: inside("settled"), port: "etcd-client" },
  {
    of: "with one member that serves both schemes during a change to TLS",
    given: withPeers(secured(), IN_PLAIN, IN_PLAIN, OVER_BOTH),
    port: "etcd-client",
  },
  {
    of: "with all members serving both schemes",
    given: withPeers(secured(), OVER_BOTH, OVER_BOTH, OVER_BOTH),
    port: "etcd-client",
  },
  {
    of: "with one member serving both schemes and the others only TLS",
    given: withPeers(secured(), OVER_TLS, OVER_BOTH, OVER_TLS),
    port: "etcd-client-ssl",
  },
  {
    of: "with a member that still serves TLS after spec.tls was removed",
    given: withPeers(cluster(), OVER_TLS),
    port: "etcd-client-ssl",
  },
];
for (const { of, given, port } of discovered) {
  test(`the client port of a cluster ${of} has the name ${port}`, () => {
    expect(headlessService(given).spec?.ports).toEqual([{ ...CLIENT, name: port }, PEER]);
  });
}

/** A cluster with peer TLS and without client TLS. */
function inside(stage: "recorded" | "settled"): ClusterSnapshot {
  return (stage === "settled" ? secured : unissued)({ stage }, { client: { provider: "None" } });
}

/** The snapshot in which members have these specs. */
function withPeers(snapshot: ClusterSnapshot, ...specs: readonly EtcdPeer["spec"][]): ClusterSnapshot {
  const peers = specs.map((spec, n) => ({ ...snapshot.peers[n]!, spec }));
  return { ...snapshot, peers };
}

test("the client Service has one address and leads only to Ready members", () => {
  const service = clientService(cluster());
  expectOurs(service, "my-etcd-client");
  expect(service.spec).toEqual({ type: "ClusterIP", selector: SELECTOR, ports: [CLIENT] });
});

for (const [replicas, minAvailable] of [
  [2, 1],
  [3, 2],
  [4, 3],
  [5, 3],
  [7, 4],
] as const) {
  test(`the PodDisruptionBudget keeps ${minAvailable} of ${replicas} members available`, () => {
    const budget = disruptionBudget(cluster({ replicas }));
    expectOurs(budget, "my-etcd");
    expect(budget.spec).toEqual({ minAvailable, selector: { matchLabels: SELECTOR } });
  });
}

test("the PodDisruptionBudget lets drains evict the only member, even when it is not Ready", () => {
  const { spec } = disruptionBudget(cluster({ replicas: 1 }));
  expect(spec).toEqual({
    minAvailable: 0,
    unhealthyPodEvictionPolicy: "AlwaysAllow",
    selector: { matchLabels: SELECTOR },
  });
});

test("the PodDisruptionBudget keeps a quorum of the existing members, not of spec.replicas", () => {
  expect(disruptionBudget(cluster({ replicas: 5, spec: { replicas: 3 } })).spec?.minAvailable).toBe(3);
});

/** Fields that the API server adds. */
const ADDED = { clusterIP: "10.0.0.7", clusterIPs: ["10.0.0.7"], ipFamilies: ["IPv4"], sessionAffinity: "None" };

/** The Service as stored by the API server, with these edits. */
function live(draft: Draft<Service>, edited: object = {}): Service {
  const stored = born<Service>(draft);
  return { ...stored, spec: { ...ADDED, ...stored.spec, ...edited } } as Service;
}

const edits: { name: string; edited: object; differs: boolean }[] = [
  { name: "nothing", edited: {}, differs: false },
  { name: "a field that the operator does not manage", edited: { internalTrafficPolicy: "Local" }, differs: false },
  { name: "the selector", edited: { selector: { app: "other" } }, differs: true },
  { name: "a port", edited: { ports: [{ ...CLIENT, targetPort: 9999 }] }, differs: true },
  { name: "publishNotReadyAddresses", edited: { publishNotReadyAddresses: true }, differs: true },
  { name: "the type", edited: { type: "LoadBalancer" }, differs: true },
  { name: "trafficDistribution", edited: { trafficDistribution: "PreferClose" }, differs: true },
  { name: "a further port", edited: { ports: [CLIENT, PEER] }, differs: true },
];
for (const { name, edited, differs } of edits) {
  test(`a Service with an edit of ${name} is ${differs ? "corrected" : "left alone"}`, () => {
    const wanted = clientService(cluster());
    expect(serviceDiffers(live(wanted, edited), wanted)).toBe(differs);
  });
}

const OPEN = {
  spec: { type: "LoadBalancer", trafficDistribution: "PreferSameZone" },
  metadata: { labels: { team: "a" }, annotations: { "example.com/scheme": "internal" } },
} as const;
const open = clientService(cluster({ spec: { clientService: OPEN } }));
const closed = clientService(cluster());

test("the client Service has the fields of the spec", () => {
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

const CHOSEN: { spec: ClusterSnapshot["cluster"]["spec"]["clientService"]["spec"] } = {
  spec: {
    type: "LoadBalancer",
    appProtocol: "kubernetes.io/h2c",
    nodePort: 30_379,
    ipFamilyPolicy: "PreferDualStack",
    ipFamilies: ["IPv6"],
    loadBalancerClass: "example.com/lb",
    loadBalancerSourceRanges: ["192.0.2.0/24"],
  },
};
const chosen = clientService(cluster({ spec: { clientService: CHOSEN } }));

test("the client Service has the port, families and load balancer of the spec", () => {
  const { appProtocol, nodePort, ...rest } = CHOSEN.spec;
  expect(chosen.spec).toEqual({ ...rest, selector: SELECTOR, ports: [{ ...CLIENT, appProtocol, nodePort }] });
});

test.each<[string, object, boolean]>([
  ["nothing", {}, false],
  ["a second family from the server", { ipFamilies: ["IPv6", "IPv4"] }, false],
  ["another first family", { ipFamilies: ["IPv4", "IPv6"] }, true],
  ["another family policy", { ipFamilyPolicy: "SingleStack" }, true],
  ["another application protocol", { ports: [{ ...chosen.spec!.ports![0], appProtocol: "https" }] }, true],
  ["another node port", { ports: [{ ...chosen.spec!.ports![0], nodePort: 30_380 }] }, true],
  ["another load balancer class", { loadBalancerClass: "example.com/other" }, true],
  ["other source ranges", { loadBalancerSourceRanges: ["0.0.0.0/0"] }, true],
])("serviceDiffers: a Service with chosen fields and an edit of %s", (_, edited, differs) => {
  expect(serviceDiffers(live(chosen, edited), chosen)).toBe(differs);
});

test("serviceDiffers: what another client adds where the spec chooses nothing is left alone", () => {
  const { selector: _, ports, ...added } = chosen.spec!;
  expect(serviceDiffers(live(open, { ...added, trafficDistribution: "PreferSameZone", ports }), open)).toBe(false);
});

test("servicePut: keeps the second family that the server has added for PreferDualStack", () => {
  const both = ["IPv6", "IPv4"];
  expect(servicePut(live(chosen, { ipFamilies: both }), chosen).spec?.ipFamilies).toEqual(both);
  expect(servicePut(live(chosen, { ipFamilies: ["IPv4", "IPv6"] }), chosen).spec?.ipFamilies).toEqual(["IPv6"]);
  const single = { ...chosen, spec: { ...chosen.spec!, ipFamilyPolicy: "SingleStack" as const } };
  expect(servicePut(live(chosen, { ipFamilies: both }), single).spec?.ipFamilies).toEqual(["IPv6"]);
});

test("servicePut: a field of a load balancer is removed only if the spec had chosen it", () => {
  const { loadBalancerClass, loadBalancerSourceRanges, ...less } = CHOSEN.spec;
  const without = clientService(cluster({ spec: { clientService: { spec: { ...less, ipFamilies: ["IPv6"] } } } }));
  expect(serviceDiffers(live(chosen), without)).toBe(true);
  expect(servicePut(live(chosen), without).spec).not.toHaveProperty("loadBalancerSourceRanges");
  expect(servicePut(live(chosen), without).spec).toMatchObject({ loadBalancerClass });
  const theirs = { loadBalancerSourceRanges, loadBalancerClass };
  expect(servicePut(live(without, theirs), without).spec).toMatchObject(theirs);
});

test("the annotation of the client Service records fields that the spec has chosen and may remove again", () => {
  const keysFor = (chosenFields: object, metadata = {}) => {
    const spec = { type: "LoadBalancer" as const, ...chosenFields };
    const made = clientService(cluster({ spec: { clientService: { spec, metadata } } }));
    return made.metadata.annotations?.["etcd.improbable.io/metadata-keys"];
  };
  const fields = ["loadBalancerSourceRanges"];
  expect(keysFor({})).toBeUndefined();
  expect(keysFor({ [fields[0]!]: ["192.0.2.0/24"] })).toBe(JSON.stringify({ labels: [], annotations: [], fields }));
  expect(keysFor({ [fields[0]!]: ["192.0.2.0/24"] }, { labels: { a: "b" } })).toBe(
    JSON.stringify({ labels: ["a"], annotations: [], fields }),
  );
  expect(keysFor({}, { labels: { a: "b" } })).toBe(JSON.stringify({ labels: ["a"], annotations: [] }));
});

test("without spec.clientService.spec, as in a converted object, the client Service has the type ClusterIP", () => {
  const bare = cluster();
  const spec = { ...bare.cluster.spec, clientService: {} } as typeof bare.cluster.spec;
  expect(clientService({ ...bare, cluster: { ...bare.cluster, spec } })).toEqual(closed);
});

test("labels in spec.clientService do not replace the operator's own labels", () => {
  const own = { "app.kubernetes.io/managed-by": "somebody", "app.kubernetes.io/instance": "other" };
  const metadata = { labels: { ...own, team: "a" } };
  const wanted = clientService(cluster({ spec: { clientService: { spec: { type: "ClusterIP" }, metadata } } }));
  expect(wanted.metadata.labels).toEqual({ ...closed.metadata.labels, team: "a" });
});

/** The Service with these additional labels and annotations. */
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

test("serviceDiffers: only labels and annotations in spec.clientService are corrected", () => {
  expect(serviceDiffers(marked(live(open), { other: "1" }, { "cloud.example/id": "7" }), open)).toBe(false);
  expect(serviceDiffers(marked(live(open), { team: "b" }, {}), open)).toBe(true);
  expect(serviceDiffers(marked(live(open), {}, { "example.com/scheme": "public" }), open)).toBe(true);
});

test("servicePut: removes only labels and annotations that were removed from spec.clientService", () => {
  const { metadata } = servicePut(marked(live(open), { other: "1" }, { "cloud.example/id": "7" }), closed);
  expect(metadata.labels).toEqual({ ...closed.metadata.labels, other: "1" });
  expect(metadata.annotations).toEqual({ ...closed.metadata.annotations, "cloud.example/id": "7" });
  expect(metadata).toMatchObject({ uid: expect.any(String), resourceVersion: "200" });
});

test("the order of labels and annotations in spec.clientService does not matter", () => {
  const wish = (metadata: object) =>
    clientService(cluster({ spec: { clientService: { spec: { type: "ClusterIP" }, metadata } } })).metadata.annotations;
  const [a, b] = [
    { a: "1", b: "2" },
    { b: "2", a: "1" },
  ];
  expect(wish({ labels: a, annotations: a })).toEqual(wish({ labels: b, annotations: b }));
});

test("serviceDiffers: a label that was removed from spec.clientService is a difference", () => {
  const [more, less] = [{ a: "1", b: "2" }, { a: "1" }].map((labels) =>
    clientService(cluster({ spec: { clientService: { spec: { type: "ClusterIP" }, metadata: { labels } } } })),
  );
  expect(serviceDiffers(live(more!), less!)).toBe(true);
});

test("servicePut: drops sessionAffinity and publishNotReadyAddresses that another client set", () => {
  expect(servicePut(live(closed, { sessionAffinity: "ClientIP" }), closed).spec).toEqual(closed.spec);
  const given = live(open, { publishNotReadyAddresses: true });
  expect(servicePut(given, open).spec).not.toHaveProperty("publishNotReadyAddresses");
});

test("servicePut: removes no label when the annotation with the managed keys is invalid", () => {
  for (const text of ["what?", "7", '{"labels":7}', "[]"]) {
    const given = marked(live(closed), { other: "1" }, { "etcd.improbable.io/metadata-keys": text });
    expect(servicePut(given, closed).metadata.labels).toEqual({ ...closed.metadata.labels, other: "1" });
  }
});

test("servicePut: a LoadBalancer Service keeps its load balancer fields until its type changes", () => {
  const how = { loadBalancerClass: "example.com/lb", loadBalancerSourceRanges: ["192.0.2.0/24"] };
  const given = live(open, { ...how, externalIPs: ["192.0.2.1"], trafficDistribution: "PreferClose" });
  expect(servicePut(given, open).spec).toEqual({ ...how, ...ADDED, ...open.spec });
  expect(servicePut(given, closed).spec).toEqual(closed.spec);
  const byPort = clientService(cluster({ spec: { clientService: { spec: { type: "NodePort" } } } }));
  expect(servicePut(given, byPort).spec).toEqual(byPort.spec);
  const undirected = clientService(cluster({ spec: { clientService: { spec: { type: "LoadBalancer" } } } }));
  expect(servicePut(given, undirected).spec).toEqual({ ...how, ...ADDED, ...undirected.spec });
});

test("serviceDiffers: a headless Service with another clusterIP or publishNotReadyAddresses differs", () => {
  const wanted = headlessService(cluster());
  expect(serviceDiffers(live(wanted), wanted)).toBe(false);
  expect(serviceDiffers(live(wanted, { publishNotReadyAddresses: false }), wanted)).toBe(true);
  expect(serviceDiffers(live(wanted, { clusterIP: "10.0.0.7" }), wanted)).toBe(true);
});

test("budgetDiffers: a PodDisruptionBudget that was edited to minAvailable 0 differs", () => {
  const wanted = disruptionBudget(cluster());
  const stored = born<PodDisruptionBudget>(wanted);
  expect(budgetDiffers(stored, wanted)).toBe(false);
  expect(budgetDiffers({ ...stored, spec: { ...stored.spec, minAvailable: 0 } }, wanted)).toBe(true);
});
