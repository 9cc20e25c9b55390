import {
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ensureComponents } from "../components.ts";
import { Failure } from "../failure.ts";
import { ensureImages } from "../images.ts";
import { ensureRunPackages } from "../packages.ts";
import type { Step } from "../progress.ts";
import { marked } from "../run.ts";
import { DEFAULT_ETCD_VERSION, type EtcdVersion } from "../versions.ts";
import { apiServerUrl, MAX_NODES } from "./addresses.ts";
import { Api } from "./api.ts";
import { CLIENTS, ensureCertificates } from "./certificates.ts";
import { ensureApiServer, ensureControllers } from "./control-plane.ts";
import { closeHealthConnections } from "./health.ts";
import { ensureImageStore } from "./image-store.ts";
import {
  DEFAULT_INSTANCE,
  type Instance,
  instanceOf,
  recordedNodes,
  recordNodes,
  stateFolder,
  withInstanceLock,
} from "./instance.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { raiseLimits, restoreLimits } from "./limits.ts";
import { unmountBelow } from "./mounts.ts";
import { ensureNetwork, resolvConf } from "./network.ts";
import { ensureKubelet, ensureRuntime, type NodeImages, nodeName, stopKubelet } from "./node.ts";
import { resolvConfText } from "./node-config.ts";
import { heal, partitioned } from "./partition.ts";
import { type ProcessTable, tableOf, waitReady } from "./processes.ts";
import { ensureStorage } from "./provisioning.ts";
import { ensureDns, ensureProxy } from "./services.ts";
import { slotFor, TOKEN_VARIABLE, takeSlot } from "./slots.ts";
import { tearDown } from "./teardown.ts";

export const DEFAULT_NODES = 3;

export const KUBERNETES_RUNS = "Kubernetes runs";

/** Free disk space that an instance needs, in bytes: three nodes with their own images take about 1.1 GiB. */
const NEEDED_BYTES = 2 * 1024 ** 3;

export const COMPONENTS = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "kubectl",
  "etcd-3.6.16",
  "containerd",
  "runc",
  "cni",
  "coredns",
  "pause",
] as const;

export type Binaries = Awaited<ReturnType<typeof ensureBinaries>>;

/** Paths of an instance's components, which are built when they are missing. */
export async function ensureBinaries(step: Step) {
  const paths = await ensureComponents(COMPONENTS, step);
  return { ...paths, etcd: paths["etcd-3.6.16"] };
}

/** Images of every node, which are made when they are missing. */
export async function ensureNodeImages(
  binaries: Binaries,
  step: Step,
  versions: readonly EtcdVersion[] = [DEFAULT_ETCD_VERSION],
): Promise<NodeImages> {
  const archives = await ensureImages(versions, step);
  return { archives, store: await ensureImageStore(binaries.containerd, archives, step) };
}

/** Installs and builds everything that `up` needs and that is missing. */
export async function buildAll(step: Step, versions?: readonly EtcdVersion[]) {
  await ensureRunPackages(step);
  const binaries = await ensureBinaries(step);
  return { binaries, images: await ensureNodeImages(binaries, step, versions) };
}

/**
 * Brings a local Kubernetes up, or repairs it: running processes are kept, dead ones started, stopped nodes booted, and
 * partitions healed.
 * @param nodes number of nodes; default: as many as the instance has, or DEFAULT_NODES
 * @param versions of etcd: every node gets their images, and keeps those that it has
 * @throws Failure that names the failed component and shows its last log lines
 */
export async function up(
  name: string,
  nodes: number | undefined,
  step: Step,
  versions?: readonly EtcdVersion[],
): Promise<Instance> {
  const folder = stateFolder(name);
  const { binaries, images } = await buildAll(step, versions);
  return withInstanceLock(name, async () => {
    const count = wantedNodes(folder, nodes);
    mkdirSync(folder, { recursive: true });
    needSpace(folder);
    const instance = instanceOf(name, await takeSlot(folder, tearDown));
    recordNodes(folder, count);
    raiseLimits();
    // Marks also short-lived programs such as `ip` and `ctr`. When this process is killed, they outlive it for a
    // moment, and `down` must end them first. Other programs, such as tests in parallel, must have no mark: `down`
    // would end them.
    await marked({ [TOKEN_VARIABLE]: instance.token }, () =>
      step(KUBERNETES_RUNS, () => start(instance, count, binaries, images, step)),
    );
    linkKubeconfig(instance);
    return instance;
  });
}

/**
 * Takes a local Kubernetes down from any state, and leaves nothing of it behind.
 * @param keep keep its state folder, so that the next `up` brings the same cluster back
 * @returns false when there is no such instance
 */
export function down(name: string, keep: boolean, step: Step): Promise<boolean> {
  const folder = stateFolder(name);
  return withInstanceLock(name, async () => {
    const record = slotFor(folder);
    if (record === undefined && !existsSync(folder)) return false;
    await step(`${name} down`, async (note) => {
      note("its processes, network, mounts and cgroups");
      if (record !== undefined) await tearDown(record);
      if (keep) return;
      note(`its state, ${folder}`);
      unlinkKubeconfig(name, folder);
      await unmountBelow(folder);
      rmSync(folder, { recursive: true, force: true });
    });
    return true;
  }).finally(restoreLimits); // also when a killed command left nothing else behind
}

async function start(
  instance: Instance,
  count: number,
  binaries: Binaries,
  images: NodeImages,
  step: Step,
): Promise<void> {
  const table = tableOf(instance);
  const nodes = Array.from({ length: count }, (_, index) => index + 1);
  await table.endUnrecorded();
  await step("network ready", async () => {
    await ensureNetwork(instance, count);
    for (const node of await partitioned(instance)) await heal(instance, node);
  });
  await ensureCertificates(instance, count);
  writeConfig(instance);
  const api = new Api(environmentKubeconfig(instance));
  try {
    const apiServer = step("kube-apiserver ready", () => ensureApiServer(instance, table, binaries, api));
    const runtimes = nodes.map((node) =>
      step(`containerd-${node} ready, with images`, () => ensureRuntime(instance, table, binaries, node, images)),
    );
    const after = (title: string, work: () => Promise<void>) => apiServer.then(() => step(title, work));
    await allOf([
      apiServer,
      after("kube-controller-manager, kube-scheduler ready", () => ensureControllers(instance, table, binaries)),
      after("coredns ready", () => ensureDns(instance, table, binaries.coredns)),
      after("storage ready", () => ensureStorage(instance, table, api)),
      ...nodes.map(async (node) => {
        await allOf([apiServer, runtimes[node - 1]]);
        await step(`${nodeName(node)} ready`, () => ensureNode(instance, table, binaries, node, api));
        if (node === 1) await step("kube-proxy ready", () => ensureProxy(instance, table, binaries["kube-proxy"]));
      }),
    ]);
    await ensureDefaultAccount(table, api);
  } finally {
    await api.close();
    await closeHealthConnections();
  }
}

/** Starts the node's kubelet, and waits until the node is Ready. */
export async function ensureNode(
  instance: Instance,
  table: ProcessTable,
  binaries: Binaries,
  node: number,
  api: Api,
): Promise<void> {
  const path = `/api/v1/nodes/${nodeName(node)}`;
  // A kubelet registers its node only at its start: a deleted Node object needs a new kubelet.
  if ((await api.call("GET", path)).status === 404) await stopKubelet(table, node);
  const kubelet = await ensureKubelet(instance, table, binaries, node);
  await waitReady(kubelet, async () => {
    const { status, body } = await api.call("GET", path);
    if (status !== 200) return "the kubelet has not registered the node";
    const { conditions = [] } = (
      body as {
        status: { conditions?: { type: string; status: string; message: string; lastHeartbeatTime: string }[] };
      }
    ).status;
    const ready = conditions.find((condition) => condition.type === "Ready");
    if (ready?.status !== "True")
      return `the node is not Ready: ${ready?.message ?? "the kubelet has not reported yet"}`;
    // The report must be by this kubelet, not by the previous one.
    const isOld = Date.parse(ready.lastHeartbeatTime) < kubelet.startedAt - 1000;
    return isOld ? "the node's last report is from before its kubelet started" : undefined;
  });
}

/** Waits for the default service account of namespace default, without which no pods can be created there. */
async function ensureDefaultAccount(table: ProcessTable, api: Api): Promise<void> {
  const controllerManager = table.running("kube-controller-manager");
  if (controllerManager === undefined) throw new Failure("kube-controller-manager ended just after it was ready.");
  await waitReady(controllerManager, async () => {
    const { status } = await api.call("GET", "/api/v1/namespaces/default/serviceaccounts/default");
    return status === 200 ? undefined : "the default service account does not exist";
  });
}

/** Waits for all, also after one has failed, so that no work is left running. @throws the first failure */
async function allOf(works: readonly (Promise<unknown> | undefined)[]): Promise<void> {
  const results = await Promise.allSettled(works);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

function writeConfig(instance: Instance): void {
  mkdirSync(instance.config, { recursive: true });
  writeFileSync(resolvConf(instance), resolvConfText());
  const server = apiServerUrl(instance.link.insideAddress);
  for (const leaf of Object.values(CLIENTS)) {
    writeKubeconfig(instance, join(instance.config, `${leaf.name}.kubeconfig`), leaf, server);
  }
  writeKubeconfig(instance, instance.kubeconfig, CLIENTS.admin, server);
}

export function environmentKubeconfig(instance: Instance): string {
  return join(instance.config, `${CLIENTS.environment.name}.kubeconfig`);
}

function wantedNodes(folder: string, asked: number | undefined): number {
  const recorded = recordedNodes(folder);
  const count = asked ?? recorded ?? DEFAULT_NODES;
  if (!Number.isInteger(count) || count < 1 || count > MAX_NODES) {
    throw new Failure(`--nodes is ${count}; it must be a whole number from 1 to ${MAX_NODES}.`);
  }
  if (recorded !== undefined && count < recorded) {
    throw new Failure(
      `--nodes is ${count}, but the instance has ${recorded} nodes. To have fewer, take it down first.`,
    );
  }
  return count;
}

function needSpace(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= NEEDED_BYTES) return;
  const mib = (bytes: number) => `${Math.floor(bytes / 1024 ** 2)} MiB`;
  throw new Failure(
    `The disk is too full: ${mib(bavail * bsize)} are free at ${folder}; ${mib(NEEDED_BYTES)} are needed.`,
  );
}

/** Links the default instance's kubeconfig under a second, shorter name. */
function linkKubeconfig(instance: Instance): void {
  if (instance.name !== DEFAULT_INSTANCE) return;
  const link = shortKubeconfig(instance.folder);
  rmSync(link, { force: true });
  symlinkSync(join(instance.name, "kubeconfig"), link);
}

function unlinkKubeconfig(name: string, folder: string): void {
  const link = shortKubeconfig(folder);
  const isOurs =
    lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(link) === join(name, "kubeconfig");
  if (isOurs) rmSync(link);
}

function shortKubeconfig(folder: string): string {
  return join(dirname(folder), "kubeconfig");
}
