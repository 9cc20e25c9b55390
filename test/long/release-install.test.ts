import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CLUSTER_LABEL, OPERATOR } from "#api/names.ts";
import { deployOperator } from "#dev/deploy.ts";
import { silentStep } from "#dev/progress.ts";
import { eventually, kubectl, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { commandsIn, typedIn, VERSION_ON_PAGE } from "#kit/e2e/release-commands.ts";
import { type Registry, startRegistry } from "#kit/servers/registry.ts";
import { makeRelease } from "#kit/servers/release.ts";
import { removeTemporaryDirs, temporaryDir } from "#kit/servers/store-server.ts";
import type { Pod } from "#kube/kinds.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// A user has nothing but the folders of two releases. By the commands of docs/install.md they install the first, update
// to the second while a cluster runs, and remove everything.

/** The second release has the same code. */
const [FIRST, NEXT] = [VERSION_ON_PAGE, "0.2.1-test"];
const [PLAIN = "", KUSTOMIZE = "", HELM = ""] = commandsIn("From a release", "helm install");
const [ROLLOUT = ""] = commandsIn("From a release", "rollout status");
const [HELM_UPGRADE = ""] = commandsIn("Update", "helm upgrade");
const REMOVAL = commandsIn("Stop and remove", "kubectl delete -f operator.yaml");
const HELM_REMOVAL = commandsIn("With Helm", "helm uninstall");
const [HELM_UNINSTALL = ""] = HELM_REMOVAL;
const OF_RELEASE = `${OPERATOR} --namespace ${OPERATOR_NAMESPACE}`;
const IN_SYSTEM = ["-n", OPERATOR_NAMESPACE];

let registry: Registry;
let home: string;
let imageBefore: string;

async function typed(version: string, command: string): Promise<string> {
  return await typedIn(join(home, version), version, command, home);
}

beforeAll(async () => {
  imageBefore = await operatorImage();
  registry = await startRegistry();
  home = temporaryDir("releases");
  const repository = `${registry.host}/${OPERATOR}`;
  for (const version of [FIRST, NEXT]) {
    const folder = join(home, version);
    await makeRelease(version, repository, folder);
    await typed(version, "sha256sum --check --quiet SHA256SUMS");
    const from = `${join(folder, `${OPERATOR}-${version}-image.tar`)}:${version}`;
    await registry.oras("cp", "--recursive", "--to-plain-http", "--from-oci-layout", from, `${repository}:${version}`);
  }
  // The tests' own installation is gone, so that Kubernetes is as a user's before.
  await removeAll(REMOVAL);
}, 600_000);

afterAll(async () => {
  await deployOperator(kubectl, imageBefore, silentStep);
  await registry?.stop();
  removeTemporaryDirs();
}, 300_000);

async function operatorImage(): Promise<string> {
  const path = ["-o", "jsonpath={.spec.template.spec.containers[0].image}"];
  return (await kubectl.run([...IN_SYSTEM, "get", "deployment", OPERATOR, ...path])).stdout;
}

/** Runs the commands that remove everything, and waits where the page asks a reader to. */
async function removeAll(commands: readonly string[]): Promise<void> {
  for (const command of commands) {
    if (!command.includes("wait until none is left")) await typed(FIRST, command);
    else await eventually(async () => expect(await typed(FIRST, command)).toBe(""));
  }
  const { stdout } = await kubectl.run(["get", "crds,clusterroles,validatingadmissionpolicies", "-o", "name"]);
  expect(stdout.split("\n").filter((name) => /etcd/.test(name))).toEqual([]);
}

/** UID and restarts of each member's pod, by its name. */
async function pods(cluster: UserCluster): Promise<Readonly<Record<string, string>>> {
  const path = "{range .items[*]}{.metadata.name} {.metadata.uid} {.status.containerStatuses[*].restartCount}\n{end}";
  const text = await cluster.kubectl("get", "pods", "-l", `${CLUSTER_LABEL}=${cluster.name}`, "-o", `jsonpath=${path}`);
  const lines = text.trim().split("\n");
  return Object.fromEntries(lines.map((line) => [line.split(" ")[0] ?? "", line]));
}

/** Edits the Service of the cluster, and waits until the operator has done so. */
async function expectManaged(cluster: UserCluster, mark: string): Promise<void> {
  await cluster.patch({ clientService: { metadata: { annotations: { mark } } } });
  await eventually(async () => {
    const { metadata } = await cluster.json<Pod>("get", "service", `${cluster.name}-client`);
    expect(metadata.annotations).toMatchObject({ mark });
  });
  await cluster.untilReady();
}

/** Installs the first release, makes a cluster, and updates. No member restarts. @returns the cluster */
async function installAndUpdate(
  namespace: string,
  install: string,
  update: string,
  afterInstall: () => Promise<void> = async () => {},
): Promise<UserCluster> {
  await typed(FIRST, install);
  await typed(FIRST, ROLLOUT);
  await afterInstall();
  const cluster = new UserCluster(namespace);
  await cluster.create({ replicas: 3, tls: undefined } as never);
  await cluster.untilReady();
  await cluster.put("my-etcd-0", "kept", "yes");
  expect(await operatorImage()).toBe(`${registry.host}/${OPERATOR}:${FIRST}`);
  const before = await pods(cluster);
  expect(Object.keys(before)).toHaveLength(3);
  await typed(NEXT, update);
  await typed(NEXT, ROLLOUT);
  expect(await operatorImage()).toBe(`${registry.host}/${OPERATOR}:${NEXT}`);
  await expectManaged(cluster, "updated");
  expect(await pods(cluster)).toEqual(before);
  return cluster;
}

/** Names of the claims in the namespace, which outlive everything. */
async function claims(cluster: UserCluster): Promise<readonly string[]> {
  return (await cluster.kubectl("get", "pvc", "-o", "name")).trim().split("\n");
}

test.each([
  { way: "operator.yaml", command: PLAIN },
  { way: "kustomize", command: KUSTOMIZE },
])(
  "with $way: install, update without a restart of a member, remove",
  async ({ way, command }) => {
    await using namespace = await testNamespace(`install-${way.replace(".yaml", "")}`);
    const cluster = await installAndUpdate(namespace.name, command, command);
    await removeAll(REMOVAL);
    expect(await claims(cluster)).toHaveLength(3);
  },
  400_000,
);

test("with Helm: install, test, update without a restart of a member, uninstall with running clusters, remove", async () => {
  await using namespace = await testNamespace("install-helm");
  const cluster = await installAndUpdate(namespace.name, HELM, HELM_UPGRADE, async () => {
    expect(await typed(FIRST, `helm test ${OF_RELEASE}`)).toMatch(/Phase:\s+Succeeded/);
  });
  const before = await pods(cluster);
  await typed(NEXT, `helm rollback ${OPERATOR} 1 --namespace ${OPERATOR_NAMESPACE}`);
  await typed(FIRST, ROLLOUT);
  expect(await operatorImage()).toBe(`${registry.host}/${OPERATOR}:${FIRST}`);
  await expectManaged(cluster, "rolled-back");

  await typed(NEXT, HELM_UNINSTALL);
  await kubectl.run([...IN_SYSTEM, "wait", "--for=delete", "pods", "--all", "--timeout=60s"]);
  expect(await cluster.read("my-etcd-1", "kept")).toBe("yes");
  expect(await pods(cluster)).toEqual(before);

  await typed(NEXT, HELM);
  await typed(NEXT, ROLLOUT);
  await expectManaged(cluster, "installed-again");
  expect(await pods(cluster)).toEqual(before);
  await removeAll([...REMOVAL.slice(0, -1), ...HELM_REMOVAL]);
  expect(await claims(cluster)).toHaveLength(3);
}, 600_000);
