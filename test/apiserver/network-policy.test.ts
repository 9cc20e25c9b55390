import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { MANAGED_BY_LABEL, OPERATOR } from "#api/names.ts";
import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { actOnCluster, type ClusterWrites } from "#cluster/act.ts";
import { networkPolicy } from "#cluster/exposure/desired/network-policy.ts";
import { networkPolicyRule } from "#cluster/exposure/rules/network-policy.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { install } from "#kit/servers/webhooks-apiserver.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { admitting, RESTRICTED } from "#kit/snapshots/cluster-network.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, NETWORK_POLICIES, type NetworkPolicy } from "#kube/kinds.ts";
import { crdManifests, operatorManifests } from "../../scripts/manifests.ts";

// A cluster's NetworkPolicy, with a real API server and the operator's own rights.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "default";
const REF = { namespace, name: "my-etcd" };
type NetworkPolicySpec = typeof RESTRICTED;
let server: ApiServer;
let operator: KubeClient;

beforeAll(async () => {
  server = await startApiServer();
  for (const manifest of [...crdManifests(), ...operatorManifests("operator:test")])
    await install(server.client, manifest);
  operator = await server.clientFor("operator");
  await vi.waitFor(() => server.client.list(ETCD_CLUSTERS, { namespace }, OPTIONS), { timeout: 30_000 });
  await vi.waitFor(() => operator.list(NETWORK_POLICIES, { namespace }, OPTIONS), { timeout: 30_000 });
  // The policy applies a moment after its creation.
  await vi.waitFor(
    () =>
      expect(operator.create(NETWORK_POLICIES, selecting({}), OPTIONS)).rejects.toThrow(
        "NetworkPolicies select the members",
      ),
    { timeout: 30_000, interval: 500 },
  );
}, 90_000);
afterAll(async () => await server?.stop());

/** A NetworkPolicy as the operator creates it, for other pods. */
function selecting(podSelector: object): Draft<NetworkPolicy> {
  const { metadata, spec } = networkPolicy(asking(RESTRICTED));
  const name = `other-${Math.random().toString(36).slice(2, 8)}`;
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { namespace, name, labels: metadata.labels ?? {} },
    spec: { ...spec, podSelector } as NonNullable<NetworkPolicy["spec"]>,
  };
}

function asking(wish: NetworkPolicySpec): ClusterSnapshot {
  const snapshot = cluster({ spec: { networkPolicy: wish } });
  const { metadata } = snapshot.cluster;
  return { ...snapshot, cluster: { ...snapshot.cluster, metadata: { ...metadata, namespace } } };
}

/** Reconciles until nothing is left to do. @returns the steps */
async function settle(wish: NetworkPolicySpec): Promise<readonly string[]> {
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

  test("is created when spec.networkPolicy enables it, with the intended spec", async () => {
    expect(await settle(RESTRICTED)).toEqual(["createNetworkPolicy"]);
    const { metadata, spec } = await server.client.get(NETWORK_POLICIES, REF, OPTIONS);
    expect(metadata.labels?.[MANAGED_BY_LABEL]).toBe(OPERATOR);
    expect(spec).toEqual(networkPolicy(asking(RESTRICTED)).spec);
  });

  test("is updated when spec.networkPolicy is edited, and restored after a person has edited it", async () => {
    expect(await settle(admitting(CLIENTS, [{ namespaceSelector: {} }]))).toEqual(["replaceNetworkPolicy"]);
    const edit = { spec: { ingress: [{}] } };
    await server.client.patch(NETWORK_POLICIES, REF, edit, { ...OPTIONS, type: "merge" });
    expect(await settle(admitting(CLIENTS))).toEqual(["replaceNetworkPolicy"]);
    const { spec } = await server.client.get(NETWORK_POLICIES, REF, OPTIONS);
    expect(spec?.ingress?.[1]?.from?.slice(-2)).toEqual(CLIENTS);
  });

  test("is written only once, also with empty selectors", async () => {
    const podSelector = { matchLabels: {}, matchExpressions: [{ key: "a", operator: "Exists", values: [] }] };
    const clients = [
      { namespaceSelector: { matchLabels: {}, matchExpressions: [] }, podSelector },
      { ipBlock: { cidr: "192.0.2.0/24", except: [] } },
    ];
    expect(await settle(admitting(clients))).toEqual(["replaceNetworkPolicy"]);
    expect(await settle(admitting(clients))).toEqual([]);
  });

  test("is deleted when spec.networkPolicy disables it", async () => {
    expect(await settle({ ...RESTRICTED, enabled: false })).toEqual(["deleteNetworkPolicy"]);
    expect(await server.client.find(NETWORK_POLICIES, REF, OPTIONS)).toEqual({ is: "absent" });
  });
});

test.each([
  ["other pods", { matchLabels: { app: "others" } }],
  ["all pods", {}],
  ["members of another cluster", { matchLabels: { "etcd.improbable.io/cluster-name": "my-etcd" } }],
])("the operator may not create a NetworkPolicy that selects %s", async (_, podSelector) => {
  await expect(operator.create(NETWORK_POLICIES, selecting(podSelector), OPTIONS)).rejects.toThrow(
    "the operator's NetworkPolicies select the members of the EtcdCluster of their name, and limit only ingress",
  );
});

test("the operator may not create a NetworkPolicy that restricts egress of members", async () => {
  const { metadata, ...rest } = networkPolicy(asking(RESTRICTED));
  const spec: NonNullable<NetworkPolicy["spec"]> = { ...rest.spec!, policyTypes: ["Ingress", "Egress"] };
  await expect(operator.create(NETWORK_POLICIES, { ...rest, metadata, spec }, OPTIONS)).rejects.toThrow(OPERATOR);
});

describe("spec.networkPolicy", () => {
  const listed = (from: readonly object[]) => ({ policy: "Listed", from });
  const made = (name: string, wish: object) =>
    server.client.create(
      ETCD_CLUSTERS,
      {
        apiVersion: "etcd.improbable.io/v1beta1",
        kind: "EtcdCluster",
        metadata: { namespace, name },
        spec: { replicas: 3, version: "3.6.16", networkPolicy: wish },
      } as unknown as Draft<EtcdCluster>,
      OPTIONS,
    );

  test("gets the default of the metrics port, and is stored as written", async () => {
    const clients = listed([{ podSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }]);
    const { spec } = await made("off", { enabled: false, clients });
    expect(spec.networkPolicy).toEqual({ enabled: false, clients, metrics: { policy: "Listed" } });
  });

  test.each([
    ["an absent enabled", { clients: { policy: "Listed" } }, "spec.networkPolicy.enabled: Required value"],
    ["absent clients", { enabled: true }, "spec.networkPolicy.clients: Required value"],
    ["an absent policy", { enabled: true, clients: { from: [] } }, "spec.networkPolicy.clients.policy: Required value"],
    ["a list as policy", { enabled: true, clients: [] }, "spec.networkPolicy.clients"],
    [
      "peers with policy Namespace",
      { enabled: true, clients: { policy: "Namespace", from: [{ podSelector: {} }] } },
      "from is given, and policy is Namespace; give from only with policy Listed",
    ],
  ])("refuses %s", async (_, wish, says) => {
    await expect(made("unclear", wish)).rejects.toThrow(says);
  });

  test.each([
    ["an empty client", [{}]],
    ["addresses and pods at once", [{ ipBlock: { cidr: "192.0.2.0/24" }, podSelector: {} }]],
  ])("refuses %s", async (_, clients) => {
    await expect(made("wrong", { enabled: true, clients: listed(clients) })).rejects.toThrow(
      "it must have either ipBlock, or podSelector, namespaceSelector or both",
    );
  });

  test.each([
    ["invalid addresses", [{ ipBlock: { cidr: "10.0.0.0/33" } }], "must be of type cidr"],
    ["invalid exceptions", [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10"] } }], "must be of type cidr"],
    [
      "an unknown operator of a selector",
      [{ podSelector: { matchExpressions: [{ key: "a", operator: "Is" }] } }],
      'Unsupported value: "Is"',
    ],
    [
      "a selector without values",
      [{ podSelector: { matchExpressions: [{ key: "a", operator: "In" }] } }],
      "it must have values with In and NotIn",
    ],
    ["labels that are not texts", [{ podSelector: { matchLabels: { a: 1 } } }], "must be of type string"],
  ])("refuses %s", async (_, clients, says) => {
    await expect(made("worse", { enabled: true, clients: listed(clients) })).rejects.toThrow(says);
  });

  test("keeps an unknown field in the stored object, so that the operator can refuse it", async () => {
    const clients = [{ namespaceSelector: { matchlabels: { team: "a" } } }];
    const { spec } = await made("misspelt", { enabled: true, clients: listed(clients) });
    expect(spec.networkPolicy?.clients.from).toEqual(clients);
    const refused = whyNotNetworkPolicy(spec.networkPolicy).map(({ field }) => field);
    expect(refused).toEqual(["spec.networkPolicy.clients.from[0].namespaceSelector.matchlabels"]);
  });
});
