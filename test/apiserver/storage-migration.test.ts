import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OPERATOR, PAUSED_ANNOTATION } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { definitionOf, install, leadConversions } from "#kit/servers/webhooks-apiserver.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  type AnyResource,
  CUSTOM_RESOURCE_DEFINITIONS,
  type Draft,
  type KubeObject,
  type Resource,
  resourceName,
} from "#kube/kinds.ts";
import { Election } from "#kube/lease.ts";
import { migrate } from "#kube/storage-migration.ts";
import { startWebhooks } from "#webhooks/start.ts";
import { crdManifests, OPERATOR_NAMESPACE, operatorManifests } from "../../scripts/manifests.ts";

// A real API server holds objects of the previous release, which had only v1alpha1.
// Then today's definitions and operator are installed.

const OPTIONS = { signal: new AbortController().signal };
const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
const namespace = "foo";
const KINDS = [ETCD_CLUSTERS, ETCD_PEERS];

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly versions: readonly { readonly name: string }[] };
}

interface Stored extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
}

const podTemplate = {
  metadata: { annotations: { "example.com/team": "storage" } },
  resources: { requests: { cpu: "500m", memory: "2Gi" }, limits: { memory: "4Gi" } },
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: { matchLabels: { app: "etcd" } }, topologyKey: "kubernetes.io/hostname" },
      ],
    },
  },
};

/** Templates of members, each with the revision that the previous release computed: pods restart when it changes. */
const TEMPLATES = [
  { version: "3.6.16", podTemplate: {}, revision: "21e53824edcfea7e" },
  { version: "3.5.21", podTemplate, revision: "4cb0b1a24c4095f5" },
  { version: "3.7.0", podTemplate: { resources: { requests: { cpu: 1 } } }, revision: "38bccb6cee6b9d8b" },
];

let server: ApiServer;
let admin: KubeClient;
let release: () => Promise<void>;
const processes: ChildProcess[] = [];

beforeEach(async () => {
  release = () => Promise.resolve();
  server = await startApiServer();
  admin = server.client;
  await admin.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, OPTIONS);
  const definitions = crdManifests() as unknown as readonly Definition[];
  for (const manifest of [...definitions.map(before), ...operatorManifests("operator:test")])
    await install(admin, manifest);
  for (const each of KINDS)
    await vi.waitFor(() => admin.list(alpha(each), { namespace }, OPTIONS), { timeout: 30_000, interval: 200 });
});
afterEach(async () => {
  await release();
  for (const child of processes.splice(0)) child.kill("SIGKILL");
  await server?.stop();
}, 60_000);

/** The definition with v1alpha1 as its only version. A newer kind is unchanged. */
function before({ spec, ...rest }: Definition): object {
  const { conversion: _, versions, ...others } = spec as Definition["spec"] & { conversion: unknown };
  const [only] = versions.filter(({ name }) => name === "v1alpha1");
  if (only === undefined) return { spec, ...rest };
  return { ...rest, spec: { ...others, versions: [{ ...only, storage: true }] } };
}

function alpha(of: AnyResource): Resource<Stored> {
  return { ...of, version: "v1alpha1" } as Resource<Stored>;
}

function beta(of: AnyResource): Resource<Stored> {
  return of as Resource<Stored>;
}

async function stored(of: Resource<Stored>, name: string, spec: object): Promise<Stored> {
  const metadata = { namespace, name, annotations: { [PAUSED_ANNOTATION]: "true" } };
  return await admin.create(
    of,
    { apiVersion: `${of.group}/${of.version}`, kind: of.kind, metadata, spec } as Draft<Stored>,
    OPTIONS,
  );
}

/** Like `kubectl apply` of today's definitions. */
async function upgrade(): Promise<void> {
  for (const { metadata, spec } of crdManifests() as unknown as readonly Definition[])
    await admin.patch(CUSTOM_RESOURCE_DEFINITIONS, metadata, { spec }, { ...OPTIONS, type: "merge" });
}

/** Starts the operator with the shipped rights. @returns its log so far, and how to stop it */
function startOperator(): { log: () => string; end: () => Promise<void> } {
  const flags = ["--http-port=0", "--webhook-port=0", "--metrics-port=0", `--operator-namespace=${OPERATOR_NAMESPACE}`];
  const args = [PROGRAM, "--kubeconfig", server.kubeconfigFor("operator"), ...flags];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  processes.push(child);
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (log += bytes));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const end = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  return { log: () => log, end };
}

/** Lets another process of the operator lead. */
async function holdLease(): Promise<void> {
  const stop = new AbortController();
  const old = new Election({
    client: admin,
    namespace: OPERATOR_NAMESPACE,
    name: OPERATOR,
    identity: "release-before",
  });
  const done = old.run(stop.signal, {
    onStarted: (over) => new Promise<void>((end) => over.addEventListener("abort", () => end())),
  });
  release = async () => {
    stop.abort();
    await done;
  };
  await vi.waitFor(() => expect(old.mayAct()).toBe(true), { timeout: 30_000 });
}

const storedVersions = async (of: AnyResource) => (await definitionOf(admin, of)).status?.storedVersions;

/** Stores clusters, and a member of each, as the previous release did. */
async function storeAll(): Promise<void> {
  for (const [index, { version, podTemplate: given }] of TEMPLATES.entries()) {
    const name = `my-etcd-${index}`;
    await stored(alpha(ETCD_CLUSTERS), name, { replicas: 1, version, podTemplate: given });
    const initialCluster = [{ name: `${name}-0`, host: `${name}-0.${name}.${namespace}.svc` }];
    const bootstrap = { initialClusterState: "New", static: { initialCluster } };
    await stored(alpha(ETCD_PEERS), `${name}-0`, { clusterName: name, bootstrap, version, podTemplate: given });
  }
}

/** All objects in today's version, read by a restarted API server without cache and webhook. */
async function readFromDisk(of: AnyResource): Promise<readonly Stored[]> {
  await server.kill();
  await server.start();
  const read = () => admin.list(beta(of), { namespace }, { ...OPTIONS, deadlineMs: 5_000 });
  return (await vi.waitFor(read, { timeout: 60_000 })).items;
}

test("with the shipped RBAC rules, objects are rewritten in the new storage version and keep their content", async () => {
  await storeAll();
  await upgrade();
  const stop = new AbortController();
  const kube = await server.clientFor("operator");
  const webhooks = await startWebhooks({
    port: 0,
    namespace: OPERATOR_NAMESPACE,
    imageRepository: "registry.example/etcd",
    kube,
    clock: systemClock,
    log: silentLog,
    observe: () => undefined,
    mayWrite: () => true,
  });
  await leadConversions(admin, webhooks.port);
  const keeping = webhooks.run(stop.signal);
  const was = new Map<string, Stored>();
  for (const each of KINDS) {
    const list = () => admin.list(beta(each), { namespace }, { ...OPTIONS, deadlineMs: 5_000 });
    for (const object of (await vi.waitFor(list, { timeout: 60_000, interval: 500 })).items)
      was.set(`${each.kind} ${object.metadata.name}`, object);
  }
  const written = { namespace, name: "my-etcd-1" };
  const labels = { metadata: { labels: { by: "somebody" } } };
  try {
    const migrated = KINDS.map((each) => migrate({ kube, clock: systemClock, log: silentLog }, each, stop.signal));
    await admin.patch(beta(ETCD_CLUSTERS), written, labels, { ...OPTIONS, type: "merge" });
    await Promise.all(migrated);
  } finally {
    stop.abort();
    await keeping;
    await webhooks.close();
  }
  for (const each of KINDS) {
    expect(await storedVersions(each)).toEqual(["v1beta1"]);
    const items = await readFromDisk(each);
    expect(items).toHaveLength(TEMPLATES.length);
    for (const { metadata, ...rest } of items) {
      const { metadata: before, ...same } = was.get(`${each.kind} ${metadata.name}`)!;
      expect(rest).toEqual(same);
      expect({ ...metadata, resourceVersion: "", managedFields: [], labels: {} }).toEqual({
        ...before,
        resourceVersion: "",
        managedFields: [],
        labels: {},
      });
    }
  }
}, 300_000);

test("an upgrade from the previous release converts objects before the operator leads and rewrites them afterwards", async () => {
  await storeAll();
  const was = new Map<string, KubeObject["metadata"]>();
  for (const each of KINDS)
    for (const { metadata } of (await admin.list(alpha(each), { namespace }, OPTIONS)).items)
      was.set(`${each.kind} ${metadata.name}`, metadata);
  await holdLease();
  await upgrade();
  for (const each of KINDS) {
    await vi.waitFor(async () => expect(await storedVersions(each)).toEqual(["v1alpha1", "v1beta1"]), {
      timeout: 30_000,
    });
    // No webhook converts yet: a request in today's version fails.
    const list = admin.list(beta(each), { namespace }, { ...OPTIONS, deadlineMs: 2_000 });
    await expect(list).rejects.toMatchObject({ code: "KubeUnavailable" });
  }

  const operator = startOperator();
  await vi.waitFor(() => expect(operator.log()).toContain("serves webhooks"), { timeout: 30_000 });
  const [, port] = /"address":":(\d+)","msg":"serves webhooks"/.exec(operator.log()) ?? [];
  await leadConversions(admin, Number(port));
  for (const each of KINDS) {
    await vi.waitFor(
      async () => {
        const { items } = await admin.list(beta(each), { namespace }, { ...OPTIONS, deadlineMs: 5_000 });
        expect(items).toHaveLength(TEMPLATES.length);
      },
      { timeout: 60_000, interval: 500 },
    );
    expect(operator.log()).toContain(
      `"name":"${resourceName(each)}","count":1,"msg":"published the webhooks' CA to the API server`,
    );
  }
  expect(operator.log()).not.toContain("this process leads");
  expect(await storedVersions(ETCD_PEERS)).toEqual(["v1alpha1", "v1beta1"]);

  await release();
  await vi.waitFor(() => expect(operator.log()).toContain("this process leads: at work"), { timeout: 60_000 });
  for (const each of KINDS)
    await vi.waitFor(async () => expect(await storedVersions(each)).toEqual(["v1beta1"]), {
      timeout: 60_000,
      interval: 500,
    });
  await operator.end();
  expect(operator.log()).not.toContain("could not be rewritten");

  for (const each of KINDS) {
    const items = await readFromDisk(each);
    expect(items).toHaveLength(TEMPLATES.length);
    for (const [index, { metadata, spec }] of items.entries()) {
      const { uid, generation, annotations } = metadata;
      expect(was.get(`${each.kind} ${metadata.name}`)).toMatchObject({ uid, generation, annotations });
      // A cluster's tls has a different form than a member's, and none of these has TLS.
      const { tls: _, ...template } = spec as { readonly tls?: object };
      expect(revisionOf(template as never)).toBe(TEMPLATES[index]!.revision);
    }
  }
}, 300_000);
