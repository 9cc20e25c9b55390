import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, testNamespace, UserCluster } from "#kit/e2e.ts";
import type { KubeList, NetworkPolicy } from "#kube/kinds.ts";

// A NetworkPolicy as people ask for it. The local Kubernetes has no engine that carries one out: what is shown here is that the object is
// there, says what it is to say, and is in nobody's way.

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("network-policy");
  cluster = new UserCluster(namespace.name);
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

async function policies(): Promise<readonly NetworkPolicy[]> {
  return (await cluster.json<KubeList<NetworkPolicy>>("get", "networkpolicy")).items;
}

test("a NetworkPolicy comes with the wish for it, follows it, and goes with it", async () => {
  await cluster.create({ replicas: 1, networkPolicy: { enabled: true, clients: [] } });
  await cluster.untilReady();
  const [policy, ...others] = await policies();
  expect(others).toEqual([]);
  expect(policy?.metadata.name).toBe("my-etcd");
  const operator = { "kubernetes.io/metadata.name": "etcd-operator-system" };
  expect(policy?.spec?.ingress?.[2]?.from).toMatchObject([{ namespaceSelector: { matchLabels: operator } }]);
  await cluster.patch({ networkPolicy: { clients: [{ podSelector: { matchLabels: { app: "orders" } } }] } });
  await eventually(async () => expect(JSON.stringify(await policies())).toContain('"orders"'));
  await cluster.patch({ networkPolicy: { enabled: false } });
  await eventually(async () => expect(await policies()).toEqual([]));
  await cluster.untilReady();
});
