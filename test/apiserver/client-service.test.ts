import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clientService, serviceDiffers, servicePut } from "#cluster/exposure/desired/services.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { type Draft, SERVICES, type Service } from "#kube/kinds.ts";

// Edits of spec.clientService and their effect on the client Service, with a real API server.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "default";

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer(["--service-cluster-ip-range=10.0.0.0/24,fd00:1::/112"]);
});
afterAll(async () => await server?.stop());

function wanted(given: EtcdCluster["spec"]["clientService"], name = "my-etcd-client"): Draft<Service> {
  const { metadata, ...draft } = clientService(cluster({ spec: { clientService: given } }));
  const { ownerReferences: _, ...rest } = metadata; // no cluster exists that could own it
  return { ...draft, metadata: { ...rest, namespace, name } };
}

/** Writes like the operator, and checks that nothing is left to write. */
async function put(live: Service, draft: Draft<Service>): Promise<Service> {
  const stored = await server.client.replace(SERVICES, servicePut(live, draft), OPTIONS);
  expect(serviceDiffers(stored, draft)).toBe(false);
  return stored;
}

async function patched(live: Service, change: object): Promise<Service> {
  return await server.client.patch(SERVICES, live.metadata, change, { ...OPTIONS, type: "merge" });
}

function nodePort(service: Service): number | undefined {
  return service.spec?.ports?.[0]?.nodePort;
}

test("the Service keeps its cluster IP when its type changes, and its node port while the type needs one", async () => {
  const made = await server.client.create(SERVICES, wanted({ spec: { type: "ClusterIP" } }), OPTIONS);
  const byPort = await put(
    made,
    wanted({ spec: { type: "NodePort" }, metadata: { annotations: { "example.com/a": "1" } } }),
  );
  expect(nodePort(byPort)).toBeGreaterThan(0);
  const balanced = await put(byPort, wanted({ spec: { type: "LoadBalancer", trafficDistribution: "PreferClose" } }));
  expect(nodePort(balanced)).toBe(nodePort(byPort));
  const directed = await put(balanced, wanted({ spec: { type: "LoadBalancer" }, metadata: { labels: { team: "a" } } }));
  expect(nodePort(directed)).toBe(nodePort(byPort));
  expect(directed.spec).not.toHaveProperty("trafficDistribution");
  const closed = await put(directed, wanted({ spec: { type: "ClusterIP" } }));
  expect(nodePort(closed)).toBeUndefined();
  expect(closed.spec).toEqual(made.spec);
  expect(closed.metadata.labels).toEqual(made.metadata.labels);
  expect(closed.metadata.annotations).toEqual(made.metadata.annotations);
});

test("fields that a cloud controller sets are kept while the Service has the type LoadBalancer", async () => {
  const named = (given: EtcdCluster["spec"]["clientService"]) => wanted(given, "other-client");
  const made = await server.client.create(SERVICES, named({ spec: { type: "ClusterIP" } }), OPTIONS);
  const loadBalancerClass = "example.com/lb";
  const opened = await patched(made, { spec: { type: "LoadBalancer", loadBalancerClass } });
  const marked = await patched(opened, {
    metadata: { annotations: { "cloud.example/id": "7" }, finalizers: ["service.kubernetes.io/load-balancer-cleanup"] },
    spec: { loadBalancerSourceRanges: ["192.0.2.0/24"], externalTrafficPolicy: "Local" },
  });
  const labelled = await put(marked, named({ spec: { type: "LoadBalancer" }, metadata: { labels: { team: "a" } } }));
  const { resourceVersion: _, ...metadata } = marked.metadata;
  expect(labelled.metadata).toMatchObject({ finalizers: metadata.finalizers, labels: { team: "a" } });
  expect(labelled.metadata.annotations).toMatchObject({ "cloud.example/id": "7" });
  expect(labelled.spec).toEqual(marked.spec);
  const closed = await put(labelled, named({ spec: { type: "ClusterIP" } }));
  expect(closed.spec).toEqual(made.spec);
  expect(closed.metadata.annotations).toMatchObject({ "cloud.example/id": "7" });
});

test("the chosen port, families and load balancer are stored, and can be taken back", async () => {
  const named = (spec: EtcdCluster["spec"]["clientService"]["spec"]) => wanted({ spec }, "chosen-client");
  const made = await server.client.create(SERVICES, named({ type: "ClusterIP" }), OPTIONS);
  expect(made.spec?.ipFamilies).toEqual(["IPv4"]);
  const dual = await put(made, named({ type: "ClusterIP", ipFamilyPolicy: "PreferDualStack", appProtocol: "https" }));
  expect([dual.spec?.ipFamilies, dual.spec?.ports?.[0]?.appProtocol]).toEqual([["IPv4", "IPv6"], "https"]);
  const kept = await put(dual, named({ type: "ClusterIP", ipFamilyPolicy: "PreferDualStack", ipFamilies: ["IPv4"] }));
  expect([kept.spec?.ipFamilies, kept.spec?.ports?.[0]]).toEqual([["IPv4", "IPv6"], made.spec?.ports?.[0]]);
  const unasked = await put(kept, named({ type: "ClusterIP" }));
  expect(unasked.spec?.ipFamilies).toEqual(["IPv4", "IPv6"]);
  const single = await put(unasked, named({ type: "ClusterIP", ipFamilyPolicy: "SingleStack" }));
  expect(single.spec?.ipFamilies).toEqual(["IPv4"]);
  const ranges = ["192.0.2.0/24"];
  const opened = await put(single, named({ type: "LoadBalancer", nodePort: 30_379, loadBalancerSourceRanges: ranges }));
  expect([nodePort(opened), opened.spec?.loadBalancerSourceRanges]).toEqual([30_379, ranges]);
  const moved = await put(opened, named({ type: "LoadBalancer", nodePort: 30_380 }));
  expect([nodePort(moved), moved.spec?.loadBalancerSourceRanges]).toEqual([30_380, undefined]);
  const closed = await put(moved, named({ type: "ClusterIP" }));
  expect([nodePort(closed), closed.spec?.clusterIP]).toEqual([undefined, made.spec?.clusterIP]);
});

test("a Service of IPv6 alone is created", async () => {
  const draft = wanted({ spec: { type: "ClusterIP", ipFamilies: ["IPv6"] } }, "six-client");
  const made = await server.client.create(SERVICES, draft, OPTIONS);
  expect([made.spec?.ipFamilies, serviceDiffers(made, draft)]).toEqual([["IPv6"], false]);
});
