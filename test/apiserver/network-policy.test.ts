import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { MANAGED_BY_LABEL, OPERATOR } from "#api/names.ts";
import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { actOnCluster, type ClusterWrites } from "#cluster/act.ts";
import { networkPolicy } from "#cluster/desired/network-policy.ts";
import { networkPolicyRule } from "#cluster/rules/exposure/network-policy.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { type ApiServer, startApiServer } from "#kit/apiserver.ts";
import { cluster } from "#kit/cluster.ts";
import { install } from "#kit/webhooks-apiserver.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, NETWORK_POLICIES, type NetworkPolicy } from "#kube/kinds.ts";
import { crdManifests, operatorManifests } from "../../scripts/manifests.ts";

// The NetworkPolicy of a cluster, by the word of a real API server and with the operator's own rights.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "default";
const REF = { namespace, name: "my-etcd" };
let server: ApiServer;
let operator: KubeClient;

beforeAll(async () => {
  server = await startApiServer();
  for (const manifest of [...crdManifests(), ...operatorManifests("operator:test")])
    await install(server.client, manifest);
  operator = await server.clientFor("operator");
  await vi.waitFor(() => server.client.list(ETCD_CLUSTERS, { namespace }, OPTIONS), { timeout: 30_000 });
  await vi.waitFor(() => operator.list(NETWORK_POLICIES, { namespace }, OPTIONS), { timeout: 30_000 });
  // The policy counts a moment after it was made.
  await vi.waitFor(
    () => expect(operator.create(NETWORK_POLICIES, selecting({}), OPTIONS)).rejects.toThrow("say who may reach"),
    { timeout: 30_000, interval: 500 },
  );
}, 90_000);
afterAll(async () => await server?.stop());

/** As the operator would make it, about other pods. */
function selecting(podSelector: object): Draft<NetworkPolicy> {
  const { metadata, spec } = networkPolicy(asking({ enabled: true }));
  const name = `other-${Math.random().toString(36).slice(2, 8)}`;
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { namespace, name, labels: metadata.labels ?? {} },
    spec: { ...spec, podSelector } as NonNullable<NetworkPolicy["spec"]>,
  };
}

function asking(wish: object): ClusterSnapshot {
  const snapshot = cluster({ spec: { networkPolicy: wish as never } });
  const { metadata } = snapshot.cluster;
  return { ...snapshot, cluster: { ...snapshot.cluster, metadata: { ...metadata, namespace } } };
}

/** Looks and does what is to be done, until nothing is. @returns what was done */
async function settle(wish: object): Promise<readonly string[]> {
  const done: string[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const found = await operator.list(NETWORK_POLICIES, { namespace }, OPTIONS);
    const live = found.items.find(({ metadata }) => metadata.name === REF.name);
    const snapshot = { ...asking(wish), networkPolicy: live };
    const plan = networkPolicyRule.decide(snapshot);
    if (plan?.next !== "step") return done;
    done.push(plan.step.do);
    await actOnCluster({ kube: operator } as unknown as ClusterWrites, plan.step, snapshot, OPTIONS.signal);
  }
  return done;
}

describe("a cluster's NetworkPolicy", () => {
  const CLIENTS = [
    { namespaceSelector: { matchLabels: { team: "a" } }, podSelector: { matchLabels: { app: "b" } } },
    { ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.1/32"] } },
  ];

  test("is made on wish, and is then as it was meant", async () => {
    expect(await settle({ enabled: true })).toEqual(["createNetworkPolicy"]);
    const { metadata, spec } = await server.client.get(NETWORK_POLICIES, REF, OPTIONS);
    expect(metadata.labels?.[MANAGED_BY_LABEL]).toBe(OPERATOR);
    expect(spec).toEqual(networkPolicy(asking({ enabled: true })).spec);
  });

  test("follows another wish, and is put right when somebody edits it", async () => {
    expect(await settle({ enabled: true, clients: CLIENTS, metrics: [{ namespaceSelector: {} }] })).toEqual([
      "replaceNetworkPolicy",
    ]);
    const edit = { spec: { ingress: [{}] } };
    await server.client.patch(NETWORK_POLICIES, REF, edit, { ...OPTIONS, type: "merge" });
    expect(await settle({ enabled: true, clients: CLIENTS })).toEqual(["replaceNetworkPolicy"]);
    const { spec } = await server.client.get(NETWORK_POLICIES, REF, OPTIONS);
    expect(spec?.ingress?.[1]?.from?.slice(-2)).toEqual(CLIENTS);
  });

  test("is written once, however empty the words are by which people name others", async () => {
    const podSelector = { matchLabels: {}, matchExpressions: [{ key: "a", operator: "Exists", values: [] }] };
    const clients = [
      { namespaceSelector: { matchLabels: {}, matchExpressions: [] }, podSelector },
      { ipBlock: { cidr: "192.0.2.0/24", except: [] } },
    ];
    expect(await settle({ enabled: true, clients })).toEqual(["replaceNetworkPolicy"]);
    expect(await settle({ enabled: true, clients })).toEqual([]);
  });

  test("goes when nobody wants it any more", async () => {
    expect(await settle({ enabled: false })).toEqual(["deleteNetworkPolicy"]);
    expect(await server.client.find(NETWORK_POLICIES, REF, OPTIONS)).toEqual({ is: "absent" });
  });
});

test.each([
  ["other pods", { matchLabels: { app: "others" } }],
  ["all pods", {}],
  ["members of another cluster", { matchLabels: { "etcd.improbable.io/cluster-name": "my-etcd" } }],
])("the operator's account may make none about %s", async (_, podSelector) => {
  await expect(operator.create(NETWORK_POLICIES, selecting(podSelector), OPTIONS)).rejects.toThrow(
    "say who may reach the members of the EtcdCluster of their name, and nothing else",
  );
});

test("nor one that keeps members from reaching others", async () => {
  const { metadata, ...rest } = networkPolicy(asking({ enabled: true }));
  const spec: NonNullable<NetworkPolicy["spec"]> = { ...rest.spec!, policyTypes: ["Ingress", "Egress"] };
  await expect(operator.create(NETWORK_POLICIES, { ...rest, metadata, spec }, OPTIONS)).rejects.toThrow(OPERATOR);
});

describe("spec.networkPolicy", () => {
  const made = (name: string, wish: object) =>
    server.client.create(
      ETCD_CLUSTERS,
      {
        apiVersion: "etcd.improbable.io/v1beta1",
        kind: "EtcdCluster",
        metadata: { namespace, name },
        spec: { replicas: 3, networkPolicy: wish },
      } as unknown as Draft<EtcdCluster>,
      OPTIONS,
    );

  test("is off unless somebody says otherwise, and is stored as it was written", async () => {
    const wish = { clients: [{ podSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }] };
    const { spec } = await made("off", wish);
    expect(spec.networkPolicy).toEqual({ enabled: false, ...wish });
    expect((await made("on", { enabled: true })).spec.networkPolicy).toEqual({ enabled: true });
  });

  test.each([
    ["nobody", [{}]],
    ["addresses and pods at once", [{ ipBlock: { cidr: "192.0.2.0/24" }, podSelector: {} }]],
  ])("names not %s", async (_, clients) => {
    await expect(made("wrong", { clients })).rejects.toThrow(
      "it must have either ipBlock, or podSelector, namespaceSelector or both",
    );
  });

  test.each([
    ["addresses that are none", [{ ipBlock: { cidr: "10.0.0.0/33" } }], "must be of type cidr"],
    ["exceptions that are none", [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10"] } }], "must be of type cidr"],
    [
      "labels by an operator of their own",
      [{ podSelector: { matchExpressions: [{ key: "a", operator: "Is" }] } }],
      'Unsupported value: "Is"',
    ],
    [
      "labels in no value",
      [{ podSelector: { matchExpressions: [{ key: "a", operator: "In" }] } }],
      "it must have values with In and NotIn",
    ],
    ["labels that are no texts", [{ podSelector: { matchLabels: { a: 1 } } }], "must be of type string"],
  ])("nor %s", async (_, clients, says) => {
    await expect(made("worse", { clients })).rejects.toThrow(says);
  });

  test("keeps a field that nobody knows, so that it is seen and refused, and not taken for everybody", async () => {
    const clients = [{ namespaceSelector: { matchlabels: { team: "a" } } }];
    const { spec } = await made("misspelt", { enabled: true, clients });
    expect(spec.networkPolicy?.clients).toEqual(clients);
    const refused = whyNotNetworkPolicy(spec.networkPolicy).map(({ field }) => field);
    expect(refused).toEqual(["spec.networkPolicy.clients[0].namespaceSelector.matchlabels"]);
  });
});
