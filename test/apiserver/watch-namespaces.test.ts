import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { OPERATOR } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { install } from "#kit/servers/webhooks-apiserver.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  type AnyResource,
  CONFIG_MAPS,
  type Draft,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  SECRETS,
} from "#kube/kinds.ts";
import { OPERATOR_NAMESPACE, operatorManifests } from "../../scripts/manifests.ts";
import type { Manifest } from "../../scripts/own.ts";

// An install with --watch-namespaces, with the shipped Roles and a real API server.

const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
const OPTIONS = { signal: new AbortController().signal };
const SOON = { timeout: 60_000, interval: 200 };
/** Status that the API server gives to a new EtcdCluster. */
const NEW = { observedGeneration: 0 };
/** The operator has Roles in `shop`. `later` is in its flag, too, but has no Role at first. */
const [SHOP, LATER, OTHER] = ["shop", "later", "billing"];

let server: ApiServer;
let admin: KubeClient;
let operator: KubeClient;
let started: { readonly process: ChildProcess; readonly end: Promise<number | null> } | undefined;
let log = "";

beforeAll(async () => {
  const isInstalled = ({ kind }: { kind: string }) => kind !== "ValidatingWebhookConfiguration";
  const options = { namespace: OTHER, kinds: [ETCD_CLUSTERS], isInstalled, watched: [SHOP] };
  ({ server, admin, operator } = await startShipped(options));
  await admin.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: LATER } }, OPTIONS);
  for (const namespace of [SHOP, LATER, OTHER]) await make(namespace);
  start();
}, 120_000);
afterAll(async () => {
  started?.process.kill("SIGKILL");
  await server?.stop();
});

function start(): void {
  const ports = ["--http-port=0", "--webhook-port=0", "--metrics-port=0"];
  const flags = [...ports, `--operator-namespace=${OPERATOR_NAMESPACE}`, `--watch-namespaces=${SHOP},${LATER}`];
  const args = [PROGRAM, "--kubeconfig", server.kubeconfigFor("operator"), ...flags];
  const process_ = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [process_.stdout, process_.stderr]) stream?.on("data", (bytes) => (log += bytes));
  started = { process: process_, end: new Promise((resolve) => process_.once("exit", resolve)) };
}

async function make(namespace: string): Promise<void> {
  const spec = { replicas: 1, version: "3.6.16" };
  const metadata = { namespace, name: "my-etcd" };
  const draft = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", metadata, spec };
  await admin.create(ETCD_CLUSTERS, draft as Draft<EtcdCluster>, OPTIONS);
}

async function cluster(namespace: string): Promise<EtcdCluster> {
  return await admin.get(ETCD_CLUSTERS, { namespace, name: "my-etcd" }, OPTIONS);
}

/** Waits until certificates are issued and the first member's claim exists. */
async function untilManaged(namespace: string): Promise<void> {
  await vi.waitFor(async () => {
    const { items } = await admin.list(PERSISTENT_VOLUME_CLAIMS, { namespace }, OPTIONS);
    expect(items.length, log).toBe(1);
    const conditions = (await cluster(namespace)).status?.conditions;
    expect(conditions).toContainEqual(expect.objectContaining({ type: "TLSReady", reason: "CertificatesValid" }));
  }, SOON);
}

async function untilLogged(words: string): Promise<void> {
  await vi.waitFor(() => expect(log).toContain(words), SOON);
}

test("the operator manages a cluster in a watched namespace, although it has no Role in the other one", async () => {
  await untilManaged(SHOP);
  await untilLogged("the operator leaves this namespace out");
  expect(log).toMatch(/"level":"warn".*"namespace":"later"/);
});

test("a cluster in another namespace stays as it was made", async () => {
  for (const namespace of [OTHER, LATER]) {
    const { status, spec, metadata } = await cluster(namespace);
    expect([status, spec.tls, metadata.finalizers, metadata.generation]).toEqual([NEW, undefined, undefined, 1]);
  }
  expect(log).not.toContain(OTHER);
});

test.each([
  ["Secrets", SECRETS, "my-etcd-client"],
  ["ConfigMaps", CONFIG_MAPS, "my-etcd-ca"],
  ["EtcdClusters", ETCD_CLUSTERS, "my-etcd"],
] as readonly [string, AnyResource, string][])(
  "the operator's account may not read %s of another namespace, nor list them anywhere",
  async (_, kind, name) => {
    await expect(operator.get<KubeObject>(kind, { namespace: OTHER, name }, OPTIONS)).rejects.toThrow("forbidden");
    await expect(operator.list<KubeObject>(kind, { namespace: OTHER }, OPTIONS)).rejects.toThrow("forbidden");
    await expect(operator.list<KubeObject>(kind, {}, OPTIONS)).rejects.toThrow("forbidden");
  },
);

test("the operator's account may list pods and read Secrets in the watched namespace only", async () => {
  await operator.list(PODS, { namespace: SHOP }, OPTIONS);
  await operator.get(SECRETS, { namespace: SHOP, name: "my-etcd-client-ca" }, OPTIONS);
  await expect(operator.list(PODS, { namespace: OTHER }, OPTIONS)).rejects.toThrow("forbidden");
});

test("a namespace is managed once its Role is there, after the process has started again", async () => {
  const isInLater = ({ metadata }: Manifest): boolean => metadata.namespace === LATER;
  const roles = operatorManifests("operator:test", "everywhere", undefined, [LATER]).filter(isInLater);
  expect(roles.map(({ kind }) => kind).sort()).toEqual(["Role", "RoleBinding", "RoleBinding"]);
  for (const role of roles) await install(admin, role);
  await untilLogged("the operator may read this namespace now");
  expect(await started?.end, log).toBe(1);
  start();
  await untilManaged(LATER);
  expect((await cluster(OTHER)).status).toEqual(NEW);
}, 180_000);

test("the ClusterRole has no right to objects in namespaces", () => {
  const manifests = operatorManifests("operator:test", "everywhere", undefined, [SHOP]);
  const role = manifests.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === OPERATOR);
  const resources = ((role?.rules ?? []) as readonly { resources: readonly string[] }[]).flatMap(
    (rule) => rule.resources,
  );
  expect(resources).toEqual([
    "storageclasses",
    "validatingwebhookconfigurations",
    "customresourcedefinitions",
    "tokenreviews",
    "subjectaccessreviews",
  ]);
  const bindings = manifests.filter(({ kind }) => kind === "ClusterRoleBinding");
  expect(bindings.map(({ metadata }) => metadata.name)).toEqual([OPERATOR]);
});
