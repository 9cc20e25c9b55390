import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, kubectl, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { connecting, idlePod, processIn } from "#kit/pods/idle-pod.ts";
import { PolicyEngine } from "#kit/pods/policy-engine.ts";
import { admitting } from "#kit/snapshots/cluster-network.ts";
import type { KubeList, NetworkPolicy, Pod } from "#kube/kinds.ts";

// NetworkPolicies as people request them. The local Kubernetes enforces none. The first story shows the object and that
// it disturbs nothing. In the second story, a small engine of the tests drops the packets that no policy allows.

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

test("a NetworkPolicy is created, updated and deleted as spec.networkPolicy asks", async () => {
  await cluster.create({ replicas: 1, networkPolicy: admitting([]) });
  await cluster.untilReady();
  const [policy, ...others] = await policies();
  expect(others).toEqual([]);
  expect(policy?.metadata.name).toBe("my-etcd");
  const operator = { "kubernetes.io/metadata.name": "etcd-operator-system" };
  expect(policy?.spec?.ingress?.[2]?.from).toMatchObject([{ namespaceSelector: { matchLabels: operator } }]);
  await cluster.patch({ networkPolicy: admitting([{ podSelector: { matchLabels: { app: "orders" } } }]) });
  await eventually(async () => expect(JSON.stringify(await policies())).toContain('"orders"'));
  await cluster.patch({ networkPolicy: { enabled: false } });
  await eventually(async () => expect(await policies()).toEqual([]));
  await cluster.untilReady();
});

describe("in a network that enforces NetworkPolicies", () => {
  const [CLIENT, PEER, METRICS] = [2379, 2380, 2381] as const;
  const CLOSED = { [CLIENT]: "dropped", [PEER]: "dropped", [METRICS]: "dropped" };
  const clients = [{ podSelector: { matchLabels: { app: "orders" } } }];
  let elsewhere: Awaited<ReturnType<typeof testNamespace>>;
  let watched: UserCluster;
  let engine: PolicyEngine | undefined;
  const pids = new Map<string, number>();

  beforeAll(async () => {
    elsewhere = await testNamespace("network-policy-metrics");
    watched = new UserCluster(namespace.name, "watched");
    const byNamespace = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": elsewhere.name } } };
    await watched.create({
      replicas: 3,
      networkPolicy: admitting(clients, [byNamespace]),
    });
    for (const [name, labels, where] of [
      ["orders", { app: "orders" }, namespace.name],
      ["stranger", { app: "stranger" }, namespace.name],
      ["prometheus", { app: "prometheus" }, elsewhere.name],
    ] as const) {
      const input = JSON.stringify(idlePod(name, labels, elsewhere.name));
      await kubectl.run(["-n", where, "apply", "-f", "-"], { input });
      await kubectl.run(["-n", where, "wait", "--for=condition=Ready", `pod/${name}`, "--timeout=90s"]);
      pids.set(name, await processIn(name, elsewhere.name));
    }
    await watched.untilReady();
  });
  afterAll(async () => {
    await engine?.[Symbol.asyncDispose]();
    await elsewhere?.[Symbol.asyncDispose]();
  });

  /** Whether a pod can connect to each port of each member. The result must be the same for all members. */
  async function reached(name: string): Promise<object> {
    // The pod of a removed member may still be terminating.
    const pods = await eventually(async () => {
      const { items } = await watched.json<KubeList<Pod>>("get", "pods", "-l", "etcd.improbable.io/cluster-name=watched"); // biome-ignore format: a line
      expect(items).toHaveLength(3);
      return items;
    });
    const found = pods.map(async ({ status }) => {
      const ports = [CLIENT, PEER, METRICS].map(async (port) => {
        return [port, await connecting(pids.get(name)!, status?.podIP ?? "", port)] as const;
      });
      return Object.fromEntries(await Promise.all(ports));
    });
    const [first, ...others] = await Promise.all(found);
    for (const each of others) expect(each).toEqual(first);
    return first ?? {};
  }

  /** Waits until the pod connects to this port, and to no other: on a busy machine an open port may answer too late. */
  async function untilReached(name: string, port: number): Promise<void> {
    await eventually(async () => expect(await reached(name), name).toEqual({ ...CLOSED, [port]: "open" }), 60_000);
  }

  test("before the engine enforces policies, all ports are open to all pods", async () => {
    const open = { [CLIENT]: "open", [PEER]: "open", [METRICS]: "open" };
    for (const name of pids.keys())
      await eventually(async () => expect(await reached(name), name).toEqual(open), 60_000);
  });

  test("listed clients reach only port 2379, Prometheus only 2381, and other pods no port", async () => {
    engine = await PolicyEngine.start(namespace.name);
    expect(await reached("stranger")).toEqual(CLOSED);
    await untilReached("orders", CLIENT);
    await untilReached("prometheus", METRICS);
  });

  test("members and the operator can connect, so members can be restarted, added and removed", async () => {
    await watched.kubectl("delete", "pod", await watched.podOf("watched-1"));
    await watched.untilReady(180_000);
    await watched.patch({ replicas: 4 });
    await watched.untilReady(180_000);
    await watched.patch({ replicas: 3 });
    await watched.untilReady(180_000);
    await watched.put("watched-0", "a", "1");
    expect(await reached("stranger")).toEqual(CLOSED);
    await untilReached("orders", CLIENT);
  }, 600_000);

  test("ports are closed to pods that are removed from the policy, and open to all without a policy", async () => {
    await watched.patch({ networkPolicy: admitting([]) });
    await eventually(async () => expect(await reached("orders")).toEqual(CLOSED), 30_000);
    await eventually(async () => expect(await reached("prometheus")).toEqual(CLOSED), 30_000);
    await watched.untilReady();
    await watched.patch({ networkPolicy: { enabled: false } });
    await eventually(async () => expect(await reached("stranger")).toMatchObject({ [PEER]: "open" }), 30_000);
  });
});
