import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { ALLOW_DELETION_ANNOTATION, GROUP, OPERATOR } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ensureComponents } from "#dev/components.ts";
import { silentStep } from "#dev/progress.ts";
import { run } from "#dev/run.ts";
import { KUBERNETES_VERSION } from "#dev/versions.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, type Draft, type KubeObject, PODS, type Pod, resource } from "#kube/kinds.ts";
import { chartFiles } from "../../scripts/chart/chart.ts";
import { NOT_DELETED } from "../../scripts/definitions-policy.ts";
import { crdManifests, operatorManifests } from "../../scripts/manifests.ts";
import { dashboardsConfigMap } from "../../scripts/monitoring/dashboards.ts";
import { prometheusRule } from "../../scripts/monitoring/rules.ts";
import { KEPT_BY_GITOPS, type Manifest } from "../../scripts/own.ts";
import { secretsIn } from "../../scripts/rights.ts";
import { readFlags } from "../../src/bin/flags.ts";
import { readSelfTestFlags } from "../../src/bin/self-test.ts";

// The Helm chart with both Helm releases that are in use, and a real API server.

const OPTIONS = { signal: new AbortController().signal };
const IMAGE = "registry.example:5000/etcd-cluster-operator:0.2.0";
const NAMESPACE = "etcd-operator-system";
const DIGEST = `sha256:${"a".repeat(64)}`;
const KEEP = "helm.sh/resource-policy";
const folder = mkdtempSync(join(tmpdir(), "chart-"));
const chart = join(folder, "chart");
const RELEASES = ["helm", "helm-3"] as const;
type Release = (typeof RELEASES)[number];
let binaries: Readonly<Record<Release, string>>;

beforeAll(async () => {
  binaries = await ensureComponents(RELEASES, silentStep);
  for (const [path, text] of chartFiles("0.2.0", IMAGE)) {
    mkdirSync(dirname(join(chart, path)), { recursive: true });
    writeFileSync(join(chart, path), text);
  }
}, 900_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function helm(release: Release, ...args: readonly string[]): Promise<string> {
  const homes = ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"].map((name) => [name, join(folder, release)]);
  const env = { PATH: process.env.PATH, HOME: folder, ...Object.fromEntries(homes) };
  return (await run(binaries[release], [...args], { env })).stdout;
}

let files = 0;

/** Flags that give the values to Helm. */
function withValues(values: object): readonly string[] {
  const file = join(folder, `values-${files++}.json`);
  writeFileSync(file, JSON.stringify(values));
  return ["--values", file];
}

async function rendered(values: object = {}, release: Release = "helm"): Promise<Manifest[]> {
  // Helm that is built from its module alone takes a release of Kubernetes that is too old for the chart.
  const on = ["--namespace", NAMESPACE, "--kube-version", KUBERNETES_VERSION];
  const text = await helm(release, "template", OPERATOR, chart, ...on, ...withValues(values));
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null);
}

/** Objects of `helm test`, which are not part of the installation. */
function isHook({ metadata }: Manifest): boolean {
  return "helm.sh/hook" in ((metadata as { annotations?: object }).annotations ?? {});
}

/** The objects by kind, namespace and name, without what only the chart sets. */
function byName(objects: readonly Manifest[]): Readonly<Record<string, unknown>> {
  const entries = objects
    .filter((object) => object.kind !== "Namespace" && !isHook(object))
    .map((object) => {
      const { annotations, ...metadata } = object.metadata as Manifest["metadata"] & { annotations?: object };
      const kept = Object.entries(annotations ?? {}).filter(([name]) => name !== KEEP);
      const own = kept.length === 0 ? metadata : { ...metadata, annotations: Object.fromEntries(kept) };
      const place = `${object.kind} ${metadata.namespace ?? ""} ${metadata.name}`;
      return [place, JSON.parse(JSON.stringify({ ...object, metadata: own }))];
    });
  return Object.fromEntries(entries);
}

const DEFAULT = [...crdManifests(), ...operatorManifests(IMAGE)];

describe.each(RELEASES)("with %s", (release) => {
  test("the chart passes lint", async () => {
    expect(await helm(release, "lint", "--strict", chart)).toContain("0 chart(s) failed");
  });

  test("default values render the objects of the manifests", async () => {
    expect(byName(await rendered({}, release))).toEqual(byName(DEFAULT));
  });
});

const OTHERS = ["registry.example/etcd", "localhost:5000/etcd"] as const;
const WATCHED = ["shop", "billing"];
const SAME_AS_MANIFESTS: { name: string; values: object; objects: readonly Manifest[] }[] = [
  {
    name: "another image",
    values: { image: { repository: "localhost:5000/op", tag: "7" } },
    objects: [...crdManifests(), ...operatorManifests("localhost:5000/op:7")],
  },
  {
    name: "an image by digest",
    values: { image: { digest: DIGEST } },
    objects: [...crdManifests(), ...operatorManifests(`registry.example:5000/etcd-cluster-operator@${DIGEST}`)],
  },
  {
    name: "Secrets of two namespaces only",
    values: { secretsOf: ["shop", "billing"] },
    objects: [...crdManifests(), ...operatorManifests(IMAGE, "bound"), secretsIn("shop"), secretsIn("billing")],
  },
  {
    name: "two watched namespaces",
    values: { watchNamespaces: WATCHED },
    objects: [...crdManifests(), ...operatorManifests(IMAGE, "everywhere", undefined, WATCHED)],
  },
  {
    name: "two watched namespaces, and Secrets of one of them",
    values: { watchNamespaces: WATCHED, secretsOf: ["shop"] },
    objects: [...crdManifests(), ...operatorManifests(IMAGE, "bound", undefined, WATCHED), secretsIn("shop")],
  },
  {
    name: "mirrors of etcd's images",
    values: { etcdRepositories: OTHERS },
    objects: [...crdManifests(), ...operatorManifests(IMAGE, "everywhere", OTHERS)],
  },
  {
    name: "no NetworkPolicy",
    values: { networkPolicy: { enabled: false } },
    objects: DEFAULT.filter(({ kind }) => kind !== "NetworkPolicy"),
  },
  {
    name: "no roles for people",
    values: { rolesForPeople: false },
    objects: DEFAULT.filter(({ metadata: { name } }) => ![`${OPERATOR}-view`, `${OPERATOR}-edit`].includes(name)),
  },
  { name: "a value of a parent chart", values: { global: { team: "a" } }, objects: DEFAULT },
  {
    name: "no definitions",
    values: { crds: { enabled: false } },
    objects: DEFAULT.filter(({ kind }) => kind !== "CustomResourceDefinition"),
  },
];

test.each(SAME_AS_MANIFESTS)("$name gives the objects of the manifests", async ({ values, objects }) => {
  expect(byName(await rendered(values))).toEqual(byName(objects));
});

test("monitoring is left out by default, and its values add the objects of config/monitoring with your labels", async () => {
  const mine = { enabled: true, labels: { release: "prometheus" } };
  const monitoring = { podMonitor: mine, prometheusRule: mine, dashboards: { enabled: true } };
  const all = byName(await rendered({ monitoring }));
  const example = readFileSync("examples/metrics.yaml", "utf8");
  const scraped = parseAllDocuments(example).map((document) => document.toJS() as Manifest);
  const withLabels = [...scraped, prometheusRule()].map((object) => {
    if (!/^(PodMonitor|PrometheusRule)$/.test(object.kind)) return object;
    const { labels } = object.metadata as { labels?: object };
    return { ...object, metadata: { ...object.metadata, labels: { ...labels, ...mine.labels } } };
  });
  expect(all).toEqual(byName([...DEFAULT, ...withLabels, dashboardsConfigMap()]));
});

test("values of the pods reach the Deployment", async () => {
  const toleration = { key: "dedicated", operator: "Exists" };
  const affinity = { nodeAffinity: {} };
  const objects = await rendered({
    replicas: 3,
    shards: 3,
    flags: { memberTimeout: "20m", kubeRequestsPerSecond: 10_000, runningBackups: 50, logLevel: "debug" },
    extraArgs: ["--insecure-metrics"],
    image: { pullPolicy: "Always", pullSecrets: [{ name: "registry" }] },
    resources: { requests: { cpu: "1" } },
    priorityClassName: "system-cluster-critical",
    nodeSelector: { pool: "system" },
    tolerations: [toleration],
    affinity,
  });
  const { spec } = objects.find(({ kind }) => kind === "Deployment") as unknown as { spec: DeploymentSpec };
  expect(spec.replicas).toBe(3);
  const pod = spec.template.spec;
  expect(pod).toMatchObject({
    imagePullSecrets: [{ name: "registry" }],
    priorityClassName: "system-cluster-critical",
    nodeSelector: { pool: "system" },
    affinity,
  });
  expect(pod.affinity).toEqual(affinity);
  expect(pod.tolerations).toHaveLength(3);
  expect(pod.tolerations.at(-1)).toEqual(toleration);
  const [operator] = pod.containers;
  expect(operator).toMatchObject({ imagePullPolicy: "Always", resources: { requests: { cpu: "1", memory: "128Mi" } } });
  const rates = ["--running-backups=50", "--kube-requests-per-second=10000"];
  const flags = ["--shards=3", "--member-timeout=20m", ...rates, "--log-level=debug"];
  expect(operator.args.slice(3)).toEqual([...flags, "--insecure-metrics"]);
  expect(() => readFlags(operator.args, {})).not.toThrow();
});

interface DeploymentSpec {
  readonly replicas: number;
  readonly template: {
    readonly spec: {
      readonly affinity: object;
      readonly tolerations: readonly object[];
      readonly containers: readonly [{ readonly args: readonly string[] }];
    };
  };
}

test.each([
  { crds: { keep: true }, annotations: { ...KEPT_BY_GITOPS, [KEEP]: "keep" } },
  { crds: { keep: false }, annotations: undefined },
])("definitions have the annotations $annotations with $crds", async ({ crds, annotations }) => {
  const definitions = (await rendered({ crds })).filter(({ kind }) => kind === "CustomResourceDefinition");
  expect(definitions).toHaveLength(crdManifests().length);
  for (const { metadata } of definitions)
    expect((metadata as { annotations?: object }).annotations).toEqual(annotations);
});

test("values.yaml describes each value", () => {
  const lines = readFileSync(join(chart, "values.yaml"), "utf8").split("\n");
  const bare = lines.filter((line, index) => /^ *[a-zA-Z]+:/.test(line) && !/^ *#/.test(lines[index - 1] ?? ""));
  // Requests and limits are Kubernetes' own.
  expect(bare.map((line) => line.trim().split(":")[0])).toEqual(["requests", "cpu", "memory", "limits", "memory"]);
  expect(lines.filter((line) => line.startsWith("#"))).toHaveLength(Object.keys(parse(lines.join("\n"))).length);
});

test("Artifact Hub learns each kind, its example and the image", () => {
  const { annotations } = parse(readFileSync(join(chart, "Chart.yaml"), "utf8"));
  const of = (name: string) => parse(annotations[`artifacthub.io/${name}`]);
  expect(of("crds").map(({ name }: { name: string }) => name)).toEqual(crdManifests().map((crd) => crd.metadata.name));
  expect(of("crdsExamples")).toMatchObject([{ kind: "EtcdCluster" }]);
  expect(of("images")).toEqual([{ name: OPERATOR, image: IMAGE }]);
});

test.each([
  { values: {}, namespace: NAMESPACE },
  { values: { watchNamespaces: WATCHED }, namespace: "shop" },
  { values: { watchNamespaces: WATCHED, test: { namespace: "billing" } }, namespace: "billing" },
])("the test of $values may act in namespace $namespace only", async ({ values, namespace }) => {
  const hooks = (await rendered(values)).filter(isHook);
  expect(hooks.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`)).toEqual([
    `ServiceAccount ${NAMESPACE}`,
    `Role ${namespace}`,
    `RoleBinding ${namespace}`,
    `Pod ${NAMESPACE}`,
  ]);
  const pod = hooks[3]?.spec as { containers: readonly [{ args: readonly string[] }] };
  const [command, ...flags] = pod.containers[0].args;
  expect([command, readSelfTestFlags(flags)]).toEqual([
    "self-test",
    { namespace, timeoutMs: 240_000, storageClass: undefined },
  ]);
});

describe.each(RELEASES)("%s refuses", (release) => {
  test.each([
    ["an unknown value", { replica: 3 }, "replica"],
    ["a text as number", { replicas: "three" }, "replicas"],
    ["an unknown value of the image", { image: { name: "x" } }, "image"],
    ["an unknown flag", { flags: { replaceafter: "1m" } }, "flags"],
    ["a duration without unit", { flags: { replaceAfter: "60" } }, "replaceAfter"],
    ["an argument that is no flag", { extraArgs: ["shards=3"] }, "extraArgs"],
    ["no repository of etcd's images", { etcdRepositories: [] }, "etcdRepositories"],
    ["a name that no namespace has", { watchNamespaces: ["Shop"] }, "watchNamespaces"],
    ["a namespace twice", { secretsOf: ["shop", "shop"] }, "secretsOf"],
    ["a digest that is none", { image: { digest: "sha256:1" } }, "digest"],
    ["a tag that ends a text in the admission policy", { image: { tag: "1' || 'a' == 'a" } }, "tag"],
    ["a name that no storage class has", { test: { storageClassName: "Fast" } }, "storageClassName"],
  ])("%s, and names it", async (_, values, named) => {
    await expect(rendered(values, release)).rejects.toThrow(named);
  });
});

describe.each(RELEASES)("on an API server, %s", (release) => {
  const DEPLOYMENTS = resource<Draft<EtcdCluster> & { metadata: EtcdCluster["metadata"]; spec: DeploymentSpec }>({ group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true }); // biome-ignore format: a line
  const CLUSTER = { namespace: "default", name: "my-etcd" };
  let server: ApiServer;

  beforeAll(async () => {
    server = await startApiServer();
    await server.client.create(
      NAMESPACES,
      { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
      OPTIONS,
    );
  }, 120_000);
  afterAll(async () => await server?.stop());

  async function operated(...args: readonly string[]): Promise<void> {
    await helm(release, ...args, "--namespace", NAMESPACE, "--kubeconfig", server.kubeconfigFor("admin"));
  }

  async function replicas(): Promise<number> {
    return (await server.client.get(DEPLOYMENTS, { namespace: NAMESPACE, name: OPERATOR }, OPTIONS)).spec.replicas;
  }

  async function create(): Promise<string> {
    const spec = { replicas: 1, version: "3.6.16" };
    const draft = { apiVersion: `${GROUP}/v1beta1`, kind: "EtcdCluster", metadata: CLUSTER, spec };
    const make = () => server.client.create(ETCD_CLUSTERS, draft as Draft<EtcdCluster>, OPTIONS);
    return (await vi.waitFor(make, { timeout: 30_000 })).metadata.uid;
  }

  /** Reports that the pod of the test has ended well, as a kubelet would. */
  async function endPod(): Promise<Pod> {
    const where = { namespace: NAMESPACE, name: `${OPERATOR}-test` };
    const pod = await vi.waitFor(() => server.client.get(PODS, where, OPTIONS), { timeout: 30_000 });
    const status = { phase: "Succeeded" };
    await server.client.patch<KubeObject>(PODS as never, where, { status }, { ...OPTIONS, type: "merge", subresource: "status" }); // biome-ignore format: a line
    return pod;
  }

  test("installs, upgrades, rolls back and uninstalls, and clusters stay", { timeout: 240_000 }, async () => {
    await operated("install", OPERATOR, chart);
    const uid = await create();
    const [pod] = await Promise.all([endPod(), operated("test", OPERATOR)]);
    expect(pod.spec?.serviceAccountName).toBe(`${OPERATOR}-test`);
    await expect(server.client.get(PODS, pod.metadata, OPTIONS)).rejects.toThrow("not found");
    await operated("upgrade", OPERATOR, chart, ...withValues({ replicas: 3 }));
    expect(await replicas()).toBe(3);
    await operated("rollback", OPERATOR, "1");
    expect(await replicas()).toBe(2);
    await operated("uninstall", OPERATOR);
    await expect(replicas()).rejects.toThrow("not found");
    const definition = { name: `${ETCD_CLUSTERS.plural}.${GROUP}` };
    expect((await server.client.get(CUSTOM_RESOURCE_DEFINITIONS, definition, OPTIONS)).metadata).not.toHaveProperty(
      "deletionTimestamp",
    );
    expect((await server.client.get(ETCD_CLUSTERS, CLUSTER, OPTIONS)).metadata.uid).toBe(uid);
    await operated("install", OPERATOR, chart);
    expect((await server.client.get(ETCD_CLUSTERS, CLUSTER, OPTIONS)).metadata.uid).toBe(uid);
  });

  test("with crds.keep false, an uninstall keeps definitions without the annotation, with a reason", {
    timeout: 240_000,
  }, async () => {
    const { uid } = (await server.client.get(ETCD_CLUSTERS, CLUSTER, OPTIONS)).metadata;
    await operated("upgrade", OPERATOR, chart, ...withValues({ crds: { keep: false } }));
    // Helm prints the reason only with --debug. The policy stays, so that a second attempt is refused, too.
    for (const words of [NOT_DELETED, "failed to delete release"]) {
      const uninstalled = operated("uninstall", OPERATOR, ...(words === NOT_DELETED ? ["--debug"] : []));
      await expect(uninstalled).rejects.toThrow(words);
      expect((await server.client.get(ETCD_CLUSTERS, CLUSTER, OPTIONS)).metadata.uid).toBe(uid);
    }
    await expect(replicas()).rejects.toThrow("not found");
    const annotations = { [ALLOW_DELETION_ANNOTATION]: "true" };
    for (const { metadata } of crdManifests())
      await server.client.patch(CUSTOM_RESOURCE_DEFINITIONS, { name: metadata.name }, { metadata: { annotations } }, { ...OPTIONS, type: "merge" }); // biome-ignore format: a line
    await operated("uninstall", OPERATOR);
    await vi.waitFor(() => expect(server.client.list(ETCD_CLUSTERS, {}, OPTIONS)).rejects.toThrow(), {
      timeout: 30_000,
    });
  });
});
