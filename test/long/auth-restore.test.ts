import { afterAll, beforeAll, expect, test } from "vitest";
import { CLUSTER_LABEL } from "#api/names.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e.ts";
import { RESTORED_MS, UserBackups } from "#kit/user-backups.ts";
import { secretTexts } from "#kit/user-tls.ts";
import type { Secret } from "#kube/kinds.ts";

// A snapshot in which etcd asks for users is restored where the Secret with root's password is there already: root has that password, whichever the
// snapshot has. How it is where there is none test/e2e/auth.test.ts tells.

const SPEC = {
  replicas: 1,
  tls: { peer: { provider: "Operator" }, client: { provider: "Operator" } },
  auth: { enabled: true },
};
/** What etcd was told of root is tried anew every ten minutes, unless the Secret is another one. */
const TOLD_MS = 120_000;
/** Pods end, and what they had is collected. */
const GONE_MS = 120_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let backups: UserBackups;

beforeAll(async () => {
  namespace = await testNamespace("auth-restore");
  cluster = new UserCluster(namespace.name);
  backups = new UserBackups(cluster);
  await cluster.create(SPEC as never);
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

/** Secret of a root, as people make it before there is a cluster. */
async function bringRoot(of: string, password: string): Promise<void> {
  await backups.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `${of}-root`, labels: { [CLUSTER_LABEL]: of } },
    type: "kubernetes.io/basic-auth",
    stringData: { username: "root", password },
  });
}

/** Root is let in by this password, knows what was written, and has the Secret that somebody made; nobody else is let in. */
async function expectRoot(of: UserCluster, password: string, others: readonly string[]): Promise<void> {
  await of.untilCondition("AuthReady", "True", "AuthEnabled");
  await eventually(async () => expect(await asRoot(of, password, "get", "a", "--print-value-only")).toBe("1"), TOLD_MS);
  expect((await secretTexts(of, `${of.name}-root`)).password).toBe(password);
  for (const other of others) await expect(asRoot(of, other, "get", "a")).rejects.toThrow(/authentication failed/);
  await expect(of.etcdctl(`${of.name}-0`, "get", "a")).rejects.toThrow(/user name is empty|permission denied/);
  expect((await asRoot(of, password, "user", "list")).split("\n").sort()).toEqual(["etcd-cluster-operator", "root"]);
}

test(
  "a cluster of another name, whose root has another password",
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
  "the cluster itself, when it and its data are gone, and the Secret was kept",
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
