import { afterAll, beforeAll, expect, test } from "vitest";
import { CLUSTER_LABEL } from "#api/names.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { RESTORED_MS, UserBackups } from "#kit/e2e/user-backups.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";
import type { Secret } from "#kube/kinds.ts";

// A snapshot with auth enabled is restored where the Secret with root's password exists already. Root then has that
// password, whatever the snapshot has. test/e2e/auth.test.ts covers the restore without a Secret.

const SPEC = {
  replicas: 1,
  tls: { peer: { provider: "Operator" }, client: { provider: "Operator" } },
  auth: { enabled: true },
} as const;
/** The operator retries root's password in etcd every ten minutes, unless the Secret changes. */
const TOLD_MS = 120_000;
/** Pods end, and their objects are garbage-collected. */
const GONE_MS = 120_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let backups: UserBackups;

beforeAll(async () => {
  namespace = await testNamespace("auth-restore");
  cluster = new UserCluster(namespace.name);
  backups = new UserBackups(cluster);
  await cluster.create(SPEC);
  await cluster.untilReady();
  await cluster.untilCondition("AuthReady", "True", "AuthEnabled");
});
afterAll(async () => await namespace?.[Symbol.asyncDispose]());

async function asRoot(of: UserCluster, password: string, ...args: readonly string[]): Promise<string> {
  return (await of.etcdctl(`${of.name}-0`, `--user=root:${password}`, ...args)).trim();
}

async function rootPassword(): Promise<string> {
  return (await secretTexts(cluster, "my-etcd-root")).password ?? "";
}

/** Creates the Secret of root, as a person does before there is a cluster. */
async function bringRoot(of: string, password: string): Promise<void> {
  await cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `${of}-root`, labels: { [CLUSTER_LABEL]: of } },
    type: "kubernetes.io/basic-auth",
    stringData: { username: "root", password },
  });
}

/**
 * Expects that root logs in with this password only, reads earlier writes, and that the supplied Secret is unchanged.
 */
async function expectRoot(of: UserCluster, password: string, others: readonly string[]): Promise<void> {
  await of.untilCondition("AuthReady", "True", "AuthEnabled");
  await eventually(async () => expect(await asRoot(of, password, "get", "a", "--print-value-only")).toBe("1"), TOLD_MS);
  expect((await secretTexts(of, `${of.name}-root`)).password).toBe(password);
  for (const other of others) await expect(asRoot(of, other, "get", "a")).rejects.toThrow(/authentication failed/);
  await expect(of.etcdctl(`${of.name}-0`, "get", "a")).rejects.toThrow(/user name is empty|permission denied/);
  expect((await asRoot(of, password, "user", "list")).split("\n").sort()).toEqual(["etcd-cluster-operator", "root"]);
}

test(
  "a cluster that is restored under another name has the root password of its own Secret",
  async () => {
    const password = await rootPassword();
    await asRoot(cluster, password, "put", "a", "1");
    await bringRoot("restored", "brought-by-hand-0815");
    const restored = await backups.verifiedAndRestored(SPEC);
    await expectRoot(restored, "brought-by-hand-0815", [password]);
  },
  RESTORED_MS + TOLD_MS + 400_000,
);

test(
  "a cluster that is restored under the same name has the root password of the existing Secret",
  async () => {
    const password = await rootPassword();
    await cluster.kubectl("delete", "etcdcluster", "my-etcd", "--timeout=60s");
    await cluster.kubectl("delete", "pvc", "my-etcd-0", "--timeout=60s");
    await eventually(async () => {
      const left = await cluster.json<{ items: Secret[] }>("get", "secrets,pods", "-l", `${CLUSTER_LABEL}=my-etcd`);
      expect(left.items.map(({ metadata }) => metadata.name)).toEqual([]);
    }, GONE_MS);
    await bringRoot("my-etcd", password);
    await expectRoot(await backups.restoredAs("my-etcd", SPEC), password, ["brought-by-hand-0815"]);
  },
  RESTORED_MS + TOLD_MS + GONE_MS + 200_000,
);
