import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { foundInBodies } from "#kit/e2e/audit-log.ts";
import { eventually, instance, kubectl, PATIENT_ETCDCTL, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { metricsOfOperators } from "#kit/e2e/operator-metrics.ts";
import { foundIn, needlesOf } from "#kit/tables/needles.ts";
import { toldIn } from "#kit/tables/told.ts";
import type { KubeObject, Secret } from "#kube/kinds.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// Two applications share an etcd: they apply the example, mount the binding Secrets as servicebinding.io describes, and
// use etcdctl. The administrator uses etcdctl as root, with the password from the cluster's Secret.
// test/long/access-drift.test.ts covers the repair of manual changes, which takes minutes.

const TLS = { peer: { provider: "Operator" }, client: { provider: "Operator" } } as const;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let example: readonly KubeObject[];
const secrets = new Set<string>();

beforeAll(async () => {
  namespace = await testNamespace("users");
  cluster = new UserCluster(namespace.name);
  const text = readFileSync("examples/users.yaml", "utf8").replaceAll("{ name: orders }", "{ name: my-etcd }");
  example = parseAllDocuments(text).map((each) => each.toJS() as KubeObject);
  await cluster.create({ replicas: 3, tls: TLS });
  for (const each of example.filter(({ kind }) => kind !== "Pod")) await cluster.apply(each);
  await cluster.untilReady();
});
afterAll(
  async () => void (await kubectl.run(["delete", "namespace", namespace.name, "--wait=false", "--ignore-not-found"])),
);

async function user(name: string): Promise<EtcdUser> {
  return await cluster.json<EtcdUser>("get", "etcduser", name);
}

async function untilUser(name: string, reason: string, deadlineMs = 60_000): Promise<EtcdUser> {
  return await eventually(async () => {
    const found = await user(name);
    const [ready] = found.status?.conditions ?? [];
    expect(`${ready?.reason}: ${ready?.message}`).toContain(`${reason}: `);
    return found;
  }, deadlineMs);
}

async function secret(name: string): Promise<Readonly<Record<string, string>>> {
  const { data = {} } = await cluster.json<Secret>("get", "secret", name);
  const texts = Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString()] as const);
  for (const [key, text] of texts) if (key === "password" || key === "tls.key") secrets.add(text);
  return Object.fromEntries(texts);
}

/** Starts the example's pod with another Secret. @param isNamed whether it logs in with name and password */
async function startApplication(name: string, secretName: string, isNamed: boolean): Promise<void> {
  const pod = example.find(({ kind }) => kind === "Pod");
  const text = JSON.stringify(pod).replaceAll("shop-binding", secretName);
  const app = JSON.parse(text) as KubeObject & {
    spec: { containers: { env: { name: string }[]; command: string[] }[] };
  };
  const [container] = app.spec.containers;
  if (container === undefined) throw new Error("the example has a container");
  // The pod idles, so that the test can run etcdctl in it.
  container.command = ["etcd", "--data-dir=/tmp/idle", "--listen-client-urls=http://127.0.0.1:3379", "--advertise-client-urls=http://127.0.0.1:3379", "--listen-peer-urls=http://127.0.0.1:3380"]; // biome-ignore format: a command
  if (!isNamed) container.env = container.env.filter((each) => !/USER|PASSWORD/.test(each.name));
  await cluster.apply({ ...app, metadata: { name } });
  await cluster.kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=90s");
}

async function etcdctl(app: string, ...args: readonly string[]): Promise<string> {
  return (await cluster.kubectl("exec", app, "--", ...PATIENT_ETCDCTL, ...args)).trim();
}

/** Runs etcdctl with this password, regardless of the pod's environment. */
async function asShop(password: string | undefined, ...args: readonly string[]): Promise<string> {
  return await etcdctl("nameless", `--user=shop:${password}`, ...args);
}

/** Runs etcdctl as root. */
async function admin(...args: readonly string[]): Promise<string> {
  return await etcdctl("admin", `--user=root:${(await secret("my-etcd-root")).password}`, ...args);
}

async function refused(app: string, ...args: readonly string[]): Promise<void> {
  await expect(etcdctl(app, ...args)).rejects.toThrow(
    /permission denied|invalid user ID or password|user name not found/,
  );
}

test("users are created in etcd while auth is disabled, and their status has the reason AuthDisabled", async () => {
  for (const name of ["shop", "billing"])
    expect((await untilUser(name, "AuthDisabled")).status?.binding?.name).toBe(`${name}-binding`);
  const { type } = await cluster.json<Secret>("get", "secret", "shop-binding");
  expect(type).toBe("servicebinding.io/etcd");
  const shop = await secret("shop-binding");
  const host = `my-etcd-client.${namespace.name}.svc`;
  expect(shop).toMatchObject({ type: "etcd", provider: "etcd-cluster-operator", host, port: "2379", username: "shop", "key-prefix": "shop/", endpoints: `https://${host}:2379` }); // biome-ignore format: one line
  const billing = await secret("billing-binding");
  expect(Object.keys(billing)).not.toContain("password");
  expect(new X509Certificate(billing["tls.crt"] ?? "").subject).toBe("CN=billing");
  const authority = new X509Certificate(shop["ca.crt"] ?? "").fingerprint256.replaceAll(":", "").toLowerCase();
  for (const name of ["shop", "billing"]) {
    const { binding } = (await user(name)).status ?? {};
    expect(binding).toEqual({ name: `${name}-binding`, trusts: [authority], signedBy: authority });
  }
  for (const [name, isNamed] of [["shop", true], ["billing", false]] as const) await startApplication(name, `${name}-binding`, isNamed); // biome-ignore format: one line
  await startApplication("admin", "my-etcd-client", false);
});

test("the users become Bound when auth is enabled", async () => {
  await cluster.patch({ auth: { enabled: true } });
  await cluster.untilCondition("AuthReady", "True", "AuthEnabled");
  for (const name of ["shop", "billing"]) await untilUser(name, "Bound");
});

describe("an application", () => {
  test("reads and writes its own keys only", async () => {
    expect(await etcdctl("shop", "put", "shop/a", "1")).toBe("OK");
    expect(await etcdctl("billing", "put", "billing/a", "2")).toBe("OK");
    expect(await etcdctl("shop", "get", "shop/a", "--print-value-only")).toBe("1");
    await refused("shop", "get", "billing/a");
    await refused("shop", "put", "billing/a", "x");
    await refused("billing", "get", "shop/a");
    await refused("billing", "get", "--prefix", "");
    await refused("shop", "put", "announcements", "x");
    await etcdctl("shop", "get", "announcements");
    await refused("shop", "user", "list");
  });

  test("gets no access with only a certificate when the user must log in by password", async () => {
    await startApplication("nameless", "shop-binding", false);
    await refused("nameless", "get", "shop/a");
    await expect(asShop((await secret("shop-binding")).password, "get", "shop/a")).resolves.toContain("1");
  });
});

test("after a rotation the previous password is refused, and the Secret contains the new password", async () => {
  const { password: before = "" } = await secret("shop-binding");
  await cluster.kubectl("annotate", "etcduser", "shop", "etcd.improbable.io/rotate-credentials=1");
  const { password = "" } = await eventually(async () => {
    const found = await secret("shop-binding");
    expect(found.password).not.toBe(before);
    return found;
  });
  await untilUser("shop", "Bound");
  expect(await asShop(password, "get", "shop/a", "--print-value-only")).toBe("1");
  await refused("nameless", `--user=shop:${before}`, "get", "shop/a");
  expect(Date.parse((await user("shop")).status?.lastRotationTime ?? "")).toBeGreaterThan(
    Date.parse((await user("shop")).metadata.creationTimestamp ?? ""),
  );
});

test("after a rotation the previous certificate stays valid until it expires", async () => {
  const { "tls.crt": before } = await secret("billing-binding");
  await cluster.kubectl("annotate", "etcduser", "billing", "etcd.improbable.io/rotate-credentials=1");
  await eventually(async () => expect((await secret("billing-binding"))["tls.crt"]).not.toBe(before));
  expect(await etcdctl("billing", "get", "billing/a", "--print-value-only")).toBe("2");
  await startApplication("newer", "billing-binding", false);
  expect(await etcdctl("newer", "get", "billing/a", "--print-value-only")).toBe("2");
});

test("when an EtcdUser is deleted, its user is refused at once and its Secret is deleted", async () => {
  await cluster.kubectl("delete", "etcduser", "billing", "--timeout=60s");
  await refused("billing", "get", "billing/a");
  await eventually(async () => await expect(secret("billing-binding")).rejects.toThrow("not found"));
  expect((await admin("user", "list")).split("\n")).not.toContain("billing");
});

test("no password and no private key appears in objects, events, logs, metrics or requests to the API server", async () => {
  const told = [await toldIn(namespace.name, OPERATOR_NAMESPACE), ...(await metricsOfOperators(namespace.name))].join();
  for (const part of ["shop-binding", '"kind": "EtcdUser"', '"kind": "Event"', "etcd_operator_leading"])
    expect(told).toContain(part);
  const isKey = (text: string) => text.startsWith("-----BEGIN");
  expect([...secrets].filter(isKey).length).toBeGreaterThan(2);
  expect([...secrets].filter((text) => !isKey(text)).length).toBeGreaterThan(1);
  expect(foundIn(told, [...secrets])).toEqual([]);
  const needles = [...secrets].flatMap(needlesOf);
  const marks = [namespace.name, '"EtcdUser"', "shop-binding"];
  expect(await foundInBodies(instance.logs, needles, ...marks)).toEqual({ found: [], hasBodies: true });
  // Proof that the search works: a leaked secret is found.
  const [one = ""] = [...secrets].filter(isKey);
  await cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "telltale" }, data: { told: one } });
  expect(foundIn(await toldIn(namespace.name), [...secrets])).toEqual([[...secrets].indexOf(one)]);
});

test("a namespace with EtcdUsers can be deleted", async () => {
  await kubectl.run(["delete", "namespace", namespace.name, "--timeout=120s"]);
}, 150_000);
