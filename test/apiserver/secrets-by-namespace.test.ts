import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { TLS_ROLE } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { install, kindOf } from "#kit/servers/webhooks-apiserver.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, EVENTS, type KubeObject, SECRETS } from "#kube/kinds.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";
import { secretsEverywhere, secretsIn } from "../../scripts/rights.ts";

// An install that grants Secrets by namespace, with the shipped rights and a real API server.
// The operator issues certificates where its ClusterRole is bound, and reports the missing right elsewhere.

const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
const OPTIONS = { signal: new AbortController().signal };
const SOON = { timeout: 60_000, interval: 200 };
const [BOUND, UNBOUND, SHOP] = ["bound", "unbound", "shop"];
const COMMAND = (namespace: string) =>
  `kubectl create rolebinding ${TLS_ROLE} --namespace ${namespace} --clusterrole ${TLS_ROLE} --serviceaccount ${OPERATOR_NAMESPACE}:etcd-cluster-operator`;

let server: ApiServer;
let admin: KubeClient;
let operator: ChildProcess;
let log = "";

beforeAll(async () => {
  const isInstalled = ({ kind }: { kind: string }) => kind !== "ValidatingWebhookConfiguration";
  ({ server, admin } = await startShipped({ namespace: BOUND, kinds: [ETCD_CLUSTERS], isInstalled, secrets: "bound" }));
  for (const name of [UNBOUND, SHOP])
    await admin.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, OPTIONS);
  await install(admin, secretsIn(BOUND));
  const flags = ["--http-port=0", "--webhook-port=0", "--metrics-port=0", `--operator-namespace=${OPERATOR_NAMESPACE}`];
  const args = [PROGRAM, "--kubeconfig", server.kubeconfigFor("operator"), ...flags];
  operator = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [operator.stdout, operator.stderr]) stream?.on("data", (bytes) => (log += bytes));
  for (const namespace of [BOUND, UNBOUND]) await make(namespace);
}, 120_000);
afterAll(async () => {
  operator?.kill("SIGKILL");
  await server?.stop();
});

/** A cluster with TLS, as a user writes it. */
async function make(namespace: string): Promise<void> {
  const draft = {
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdCluster",
    metadata: { namespace, name: "my-etcd" },
    spec: { replicas: 1, version: "3.6.16" },
  };
  await admin.create(ETCD_CLUSTERS, draft as Draft<EtcdCluster>, OPTIONS);
}

async function tlsReady(namespace: string) {
  const { status } = await admin.get(ETCD_CLUSTERS, { namespace, name: "my-etcd" }, OPTIONS);
  return status?.conditions?.find(({ type }) => type === "TLSReady");
}

async function untilValid(namespace: string): Promise<void> {
  await vi.waitFor(async () => expect(await tlsReady(namespace), log).toMatchObject({ status: "True", reason: "CertificatesValid" }), SOON); // biome-ignore format: one line
}

async function secretNames(namespace: string): Promise<readonly string[]> {
  const { items } = await admin.list<KubeObject>(SECRETS, { namespace }, OPTIONS);
  return items.map(({ metadata }) => metadata.name).sort();
}

test("certificates are issued in a namespace in which the role for Secrets is bound", async () => {
  await untilValid(BOUND);
  expect(await secretNames(BOUND)).toContain("my-etcd-client-ca");
});

test("a cluster in a namespace without the role reports the missing right and the command that grants it", async () => {
  await vi.waitFor(async () => expect(await tlsReady(UNBOUND), log).toMatchObject({ status: "Unknown", reason: "RightMissing" }), SOON); // biome-ignore format: one line
  expect((await tlsReady(UNBOUND))?.message).toBe(
    `the operator may not get secrets in namespace ${UNBOUND}; an administrator grants it with: ${COMMAND(UNBOUND)}`,
  );
  expect(await secretNames(UNBOUND)).toEqual([]);
});

test("the cluster continues when the role has been granted", async () => {
  await install(admin, secretsIn(UNBOUND));
  await untilValid(UNBOUND);
  expect(await secretNames(UNBOUND)).toEqual(await secretNames(BOUND));
});

test("a removed role is reported within two minutes in a condition and an event, until it is granted again", async () => {
  const binding = { namespace: BOUND, name: TLS_ROLE };
  const manifest = secretsIn(BOUND);
  const { metadata } = await admin.get(kindOf(manifest), binding, OPTIONS);
  await admin.delete(kindOf(manifest), binding, { ...OPTIONS, preconditions: { uid: metadata.uid ?? "" } });
  await vi.waitFor(async () => expect(await tlsReady(BOUND), log).toMatchObject({ status: "Unknown", reason: "RightMissing" }), { ...SOON, timeout: 120_000 }); // biome-ignore format: one line
  expect((await tlsReady(BOUND))?.message).toMatch(
    new RegExp(`^the operator may not get \\w+ in namespace ${BOUND}; `),
  );
  expect((await tlsReady(BOUND))?.message).toContain(COMMAND(BOUND));
  await vi.waitFor(async () => {
    const { items } = await admin.list(EVENTS, { namespace: BOUND }, OPTIONS);
    const told = items.filter(({ reason, type }) => reason === "SecretAccessMissing" && type === "Warning");
    expect(told.map(({ note }) => note)).toContainEqual(expect.stringContaining(COMMAND(BOUND)));
  }, SOON);
  await install(admin, manifest);
  await untilValid(BOUND);
}, 240_000);

test("the binder role lets an administrator of a namespace grant the role for Secrets and no other role", async () => {
  const rbac = "rbac.authorization.k8s.io";
  const visitor = await server.clientFor("visitor");
  const bind = (manifest: object) => visitor.create(kindOf(manifest), manifest as Draft<KubeObject>, OPTIONS);
  const metadata = { namespace: SHOP, name: "binder" };
  const rules = [{ apiGroups: [rbac], resources: ["rolebindings"], verbs: ["create"] }];
  const subjects = [{ kind: "User", name: "visitor", apiGroup: rbac }];
  await install(admin, { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules });
  await install(admin, { apiVersion: `${rbac}/v1`, kind: "RoleBinding", metadata, roleRef: { apiGroup: rbac, kind: "Role", name: "binder" }, subjects }); // biome-ignore format: one line
  await vi.waitFor(() => expect(bind(secretsIn(SHOP))).rejects.toThrow("is attempting to grant RBAC permissions not currently held"), SOON); // biome-ignore format: one line
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: `${TLS_ROLE}-binder` };
  await install(admin, { apiVersion: `${rbac}/v1`, kind: "RoleBinding", metadata: { ...metadata, name: "as-admin" }, roleRef, subjects }); // biome-ignore format: one line
  await vi.waitFor(() => bind(secretsIn(SHOP)), SOON);
  await make(SHOP);
  await untilValid(SHOP);
  const everything = { ...secretsIn(SHOP), metadata: { namespace: SHOP, name: "more" }, roleRef: { ...roleRef, name: "cluster-admin" } }; // biome-ignore format: one line
  await expect(bind(everything)).rejects.toThrow("not currently held");
  await expect(bind(secretsIn("default"))).rejects.toThrow("forbidden");
  await expect(bind(secretsEverywhere())).rejects.toThrow("forbidden");
});
