import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import type { Secret } from "#kube/kinds.ts";

// The operator looks for drift in etcd's users and roles every few minutes, because etcd does not announce it.

/** Each object is checked every five minutes, and each repair is one write; the rest is for a busy machine. */
const DRIFT_MS = 400_000;
const TLS = { peer: { provider: "Operator" }, client: { provider: "Operator" } } as const;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("drift");
  cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 1, tls: TLS, auth: { enabled: true } });
  const clusterRef = { name: "my-etcd" };
  await cluster.make("EtcdRole", "shop", { clusterRef, permissions: [{ access: "ReadWrite", prefix: "shop/" }] });
  await cluster.make("EtcdUser", "shop", { clusterRef, roles: ["shop"] });
  await cluster.untilReady();
  await cluster.untilCondition("AuthReady", "True", "AuthEnabled");
  await eventually(async () => {
    const { status } = await cluster.json<EtcdUser>("get", "etcduser", "shop");
    expect(status?.conditions?.[0]?.reason).toBe("Bound");
  }, 120_000);
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

async function passwordIn(name: string): Promise<string> {
  const { data = {} } = await cluster.json<Secret>("get", "secret", name);
  return Buffer.from(data.password ?? "", "base64").toString();
}

/** Runs etcdctl in the member's container. The member's certificate names no user of etcd. */
async function etcdctl(user: string, password: string, ...args: readonly string[]): Promise<string> {
  return await cluster.etcdctl("my-etcd-0", `--user=${user}:${password}`, ...args);
}

async function admin(...args: readonly string[]): Promise<string> {
  return await etcdctl("root", await passwordIn("my-etcd-root"), ...args);
}

test(
  "manual changes to managed users and roles are reverted, and unmanaged users are kept",
  async () => {
    const password = await passwordIn("shop-binding");
    const asShop = (...args: readonly string[]) => etcdctl("shop", password, ...args);
    await admin("user", "add", "people", "--no-password");
    await admin("role", "grant-permission", "shop", "readwrite", "billing/", "--prefix");
    await admin("user", "grant-role", "shop", "root");
    expect(await asShop("user", "list")).toContain("people");
    await eventually(async () => {
      await expect(asShop("user", "list")).rejects.toThrow(/permission denied/);
      await expect(asShop("get", "billing/a")).rejects.toThrow(/permission denied/);
    }, DRIFT_MS);
    expect(await asShop("put", "shop/a", "1")).toContain("OK");
    expect(await admin("user", "list")).toContain("people");
  },
  DRIFT_MS + 60_000,
);
