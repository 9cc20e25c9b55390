import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { GROUP } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ensureComponents } from "#dev/components.ts";
import { silentStep } from "#dev/progress.ts";
import { run } from "#dev/run.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { kindOf } from "#kit/servers/webhooks-apiserver.ts";
import type { KubeClient } from "#kube/client.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, type KubeObject } from "#kube/kinds.ts";
import { crdManifests, OPERATOR_NAMESPACE, operatorManifests } from "../../scripts/manifests.ts";
import { yamlOf } from "../../scripts/yaml.ts";

// GitOps tools apply the same manifests again and again, server-side. When the operator has run, that must change
// nothing: what the operator writes by itself is in no manifest. With a real API server.

const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
const EXAMPLES = join(import.meta.dirname, "../../examples");
const OPTIONS = { signal: new AbortController().signal };
const SOON = { timeout: 60_000, interval: 200 };
/** Field managers by which the tools apply: https://argo-cd.readthedocs.io, https://fluxcd.io */
const MANAGERS = ["argocd-controller", "kustomize-controller"];
const folder = mkdtempSync(join(tmpdir(), "gitops-"));

let server: ApiServer;
let admin: KubeClient;
let kubectl: string;
let operator: ChildProcess;
let log = "";

/** Objects of the examples that are of the operator's kinds, in one namespace. */
function examples(): readonly KubeObject[] {
  const files = ["quickstart.yaml", "tls.yaml", "users.yaml", "backup-schedule.yaml"];
  return files
    .flatMap((file) => parseAllDocuments(readFileSync(join(EXAMPLES, file), "utf8")))
    .map((document) => document.toJS() as KubeObject)
    .filter(({ apiVersion }) => apiVersion.startsWith(GROUP))
    .map((object) => ({ ...object, metadata: { ...object.metadata, namespace: "default" } }));
}

const INSTALLED = { "crds.yaml": crdManifests(), "operator.yaml": operatorManifests("operator:test") };
const WRITTEN = { "objects.yaml": examples() };

async function apply(manager: string, files: object): Promise<void> {
  for (const file of Object.keys(files))
    await run(kubectl, ["--kubeconfig", server.kubeconfig, "apply", "--server-side", "--force-conflicts", `--field-manager=${manager}`, "-f", join(folder, file)]); // biome-ignore format: a line
}

/** Versions of all objects of the files. */
async function versions(files: Readonly<Record<string, readonly object[]>>): Promise<Readonly<Record<string, string>>> {
  const objects = Object.values(files).flat() as readonly KubeObject[];
  const entries = objects.map(async (object) => {
    const { namespace, name } = object.metadata;
    const ref = namespace === undefined ? { name } : { namespace, name };
    const { metadata } = await admin.get<KubeObject>(kindOf(object), ref, OPTIONS);
    return [`${object.kind} ${name}`, metadata.resourceVersion ?? ""] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function bundleOf(plural: string): Promise<unknown> {
  const definition = await admin.get(CUSTOM_RESOURCE_DEFINITIONS, { name: `${plural}.${GROUP}` }, OPTIONS);
  return definition.spec.conversion?.webhook?.clientConfig?.caBundle;
}

beforeAll(async () => {
  [server, { kubectl }] = await Promise.all([startApiServer(), ensureComponents(["kubectl"], silentStep)]);
  admin = server.client;
  for (const [file, objects] of Object.entries({ ...INSTALLED, ...WRITTEN })) writeFileSync(join(folder, file), yamlOf(objects)); // biome-ignore format: a line
  await apply("argocd-controller", INSTALLED);
  await vi.waitFor(() => apply("argocd-controller", WRITTEN), SOON);
  const flags = ["--http-port=0", "--webhook-port=0", "--metrics-port=0", `--operator-namespace=${OPERATOR_NAMESPACE}`];
  const args = [PROGRAM, "--kubeconfig", server.kubeconfigFor("operator"), ...flags];
  operator = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [operator.stdout, operator.stderr]) stream?.on("data", (bytes) => (log += bytes));
  await vi.waitFor(async () => {
    const { spec, status } = await admin.get(ETCD_CLUSTERS, { namespace: "default", name: "my-etcd" }, OPTIONS);
    expect([spec.tls, status?.identity], log).toEqual([expect.anything(), expect.anything()]);
    expect(await bundleOf(ETCD_CLUSTERS.plural), log).toBeDefined();
  }, SOON);
  // Ended, so that no write of the operator falls between two looks at a version.
  const ended = new Promise((resolve) => operator.once("exit", resolve));
  operator.kill("SIGTERM");
  await ended;
}, 180_000);
afterAll(async () => {
  operator?.kill("SIGKILL");
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(MANAGERS)("applied by %s after the operator has run,", (manager) => {
  test.each([
    ["the installation", INSTALLED],
    ["EtcdClusters and other objects of users", WRITTEN],
  ] as const)("%s: nothing that the operator wrote is lost, and a second apply changes nothing", async (_, files) => {
    const bundle = await bundleOf(ETCD_CLUSTERS.plural);
    const { spec } = await admin.get(ETCD_CLUSTERS, { namespace: "default", name: "my-etcd" }, OPTIONS);
    await apply(manager, files);
    const before = await versions(files);
    await apply(manager, files);
    expect(await versions(files)).toEqual(before);
    expect(await bundleOf(ETCD_CLUSTERS.plural)).toBe(bundle);
    const { spec: after } = await admin.get(ETCD_CLUSTERS, { namespace: "default", name: "my-etcd" }, OPTIONS);
    expect(after).toEqual(spec);
  });
});
