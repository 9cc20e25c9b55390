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

/** Space that must be free where an instance keeps its state, in bytes: three nodes with images of their own take about 1.1 GiB. */
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

/** The components of an environment, built when they are missing. */
export async function ensureBinaries(step: Step) {
  const paths = await ensureComponents(COMPONENTS, step);
  return { ...paths, etcd: paths["etcd-3.6.16"] };
}

/** The images that every node has, made when they are missing. */
export async function ensureNodeImages(
  binaries: Binaries,
  step: Step,
  versions: readonly EtcdVersion[] = [DEFAULT_ETCD_VERSION],
): Promise<NodeImages> {
  const archives = await ensureImages(versions, step);
  return { archives, store: await ensureImageStore(binaries.containerd, archives, step) };
}

/** All that `up` needs, installed and built when it is missing. */
export async function buildAll(step: Step, versions?: readonly EtcdVersion[]) {
  await ensureRunPackages(step);
  const binaries = await ensureBinaries(step);
  return { binaries, images: await ensureNodeImages(binaries, step, versions) };
}

/**
 * Brings a local Kubernetes up, or repairs it: what runs stays, what died is started, stopped nodes boot, partitions heal.
 * @param nodes how many; default: as many as it has, or DEFAULT_NODES
 * @param versions of etcd whose images every node gets; what a node has, it keeps
 * @throws Failure that names the component at fault and shows its last log lines
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
    // Also `ip`, `unshare` or `ctr`, which end by themselves: when this process is killed, they go on for a moment, and `down` has to end
    // them before it looks what there is. Nobody else, such as tests that are told at the same time: `down` would end them, too.
    await marked({ [TOKEN_VARIABLE]: instance.token }, () =>
      step(KUBERNETES_RUNS, () => start(instance, count, binaries, images, step)),
    );
    linkKubeconfig(instance);
    return instance;
  });
}

/**
 * Takes a local Kubernetes down; nothing of it stays behind, whatever state it was in.
 * @param keep keep its state folder: the next `up` brings the same cluster back
 * @returns false when there was nothing
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
  }).finally(restoreLimits); // also when only that was left by a command that was killed
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

/** Starts the node's kubelet, and waits until the API server calls the node ready. */
export async function ensureNode(
  instance: Instance,
  table: ProcessTable,
  binaries: Binaries,
  node: number,
  api: Api,
): Promise<void> {
  const path = `/api/v1/nodes/${nodeName(node)}`;
  // A kubelet registers its node once in its life: when somebody has deleted the object, it takes a new one.
  if ((await api.call("GET", path)).status === 404) await stopKubelet(table, node);
  const kubelet = await ensureKubelet(instance, table, binaries, node);
  await waitReady(kubelet, async () => {
    const { status, body } = await api.call("GET", path);
    if (status !== 200) return "it has not registered the node";
    const { conditions = [] } = (
      body as {
        status: { conditions?: { type: string; status: string; message: string; lastHeartbeatTime: string }[] };
      }
    ).status;
    const ready = conditions.find((condition) => condition.type === "Ready");
    if (ready?.status !== "True") return `the node is not Ready: ${ready?.message ?? "it has said nothing yet"}`;
    // Said by this kubelet, not by the one before it.
    const isOld = Date.parse(ready.lastHeartbeatTime) < kubelet.startedAt - 1000;
    return isOld ? "the node's last word is from before its kubelet started" : undefined;
  });
}

/** Pods cannot be made in a namespace without its default service account, which the controller manager makes. */
async function ensureDefaultAccount(table: ProcessTable, api: Api): Promise<void> {
  const controllerManager = table.running("kube-controller-manager");
  if (controllerManager === undefined) throw new Failure("kube-controller-manager ended just after it was ready");
  await waitReady(controllerManager, async () => {
    const { status } = await api.call("GET", "/api/v1/namespaces/default/serviceaccounts/default");
    return status === 200 ? undefined : "the default service account is not made";
  });
}

/** Waits for all, also after one failed, so that nothing goes on behind the error's back. @throws the first failure */
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
    throw new Failure(`--nodes is ${count}; it must be a whole number from 1 to ${MAX_NODES}`);
  }
  if (recorded !== undefined && count < recorded) {
    throw new Failure(`--nodes is ${count}, but the environment has ${recorded}; take it down first to have fewer`);
  }
  return count;
}

function needSpace(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= NEEDED_BYTES) return;
  const mib = (bytes: number) => `${Math.floor(bytes / 1024 ** 2)} MiB`;
  throw new Failure(`the disk is full: ${mib(bavail * bsize)} are free at ${folder}; ${mib(NEEDED_BYTES)} are needed`);
}

/** The default instance's kubeconfig has a second, shorter name. */
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
