import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { componentsRoot, mainBinary } from "../components.ts";
import { type ImageArchive, PAUSE_IMAGE } from "../images.ts";
import { apiServerUrl, nodeAddresses } from "./addresses.ts";
import { kubeletLeaf, pkiFile } from "./certificates.ts";
import {
  ensureCgroup,
  enterUnifiedCgroup,
  kubeletCgroup,
  nodeCgroup,
  preferPods,
  processesIn,
  removeCgroup,
} from "./cgroups.ts";
import { imagesIn, importArchive, importImages, socketMissing } from "./containerd.ts";
import { copyStore } from "./image-store.ts";
import type { Instance } from "./instance.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { inside } from "./network.ts";
import {
  CONTAINERD_SOCKET,
  cniConfig,
  containerdConfig,
  kubeletConfig,
  kubeletFlags,
  NODE_BINARIES,
  NODE_SCRIPT,
  resolvConfText,
} from "./node-config.ts";
import { type Component, kill, type ProcessTable, waitReady } from "./processes.ts";

// What is a node here? A mount namespace and a process namespace, held by one small process, with a real containerd and
// kubelet inside. So every node has its own /run, /var/lib/kubelet and /var/log, apart from those of other nodes and of
// the host. Killing the one process is a power cut: the kernel ends all processes of the node and removes its mounts.
// Images, volumes and the kubelet's state are in the state folder and survive.

export interface NodeBinaries {
  readonly containerd: string;
  readonly kubelet: string;
  readonly runc: string;
  readonly cni: string;
  readonly pause: string;
}

/** Images of a node from its first boot on. */
export interface NodeImages {
  readonly archives: readonly ImageArchive[];
  /** Folder that image-store.ts has made of the images. */
  readonly store: string;
}

export function nodeName(node: number): string {
  return `node-${node}`;
}

/** State folder of the node. */
export function nodeFolder(instance: Instance, node: number): string {
  return join(instance.folder, "nodes", nodeName(node));
}

const holderName = nodeName;
const containerdName = (node: number) => `containerd-${node}`;
const kubeletName = (node: number) => `kubelet-${node}`;

/** Names of the node's processes in the process table, first the one that holds the namespaces. */
export function nodeProcesses(node: number): string[] {
  return [holderName(node), containerdName(node), kubeletName(node)];
}

/** Boots the node up to its container runtime, with these images. */
export async function ensureRuntime(
  instance: Instance,
  table: ProcessTable,
  binaries: NodeBinaries,
  node: number,
  images: NodeImages,
): Promise<void> {
  writeNodeFiles(instance, node, binaries);
  const disk = join(nodeFolder(instance, node), "containerd");
  if (readdirSync(disk).length === 0) copyStore(images.store, disk);
  const holder = await ensureHolder(instance, table, binaries, node);
  const configFile = "/mnt/node/config/containerd.toml";
  const containerd = await table.ensure(
    containerdName(node),
    insideNode(holder, [inNode(binaries.containerd), "--config", configFile]),
    // containerd finds its shim and mount programs on the PATH.
    { isChild: true, env: { PATH: `${dirname(inNode(binaries.containerd))}:${process.env.PATH ?? ""}` } },
  );
  const socket = socketOf(holder);
  await waitReady(containerd, () => socketMissing(socket));
  await importImages(socket, binaries.containerd, images.archives);
}

/** Starts the node's kubelet, without waiting until the node is Ready. */
export async function ensureKubelet(
  instance: Instance,
  table: ProcessTable,
  binaries: NodeBinaries,
  node: number,
): Promise<Component> {
  const holder = table.running(holderName(node));
  if (holder === undefined) throw new Error(`${nodeName(node)} is not running.`);
  const argv = insideNode(holder, [inNode(binaries.kubelet), ...kubeletFlags(node)]);
  const kubelet = await table.ensure(kubeletName(node), argv, { isChild: true });
  // Before the kubelet opens a connection: the firewall of a partition knows sockets by the cgroup that opened them.
  enterUnifiedCgroup(kubeletCgroup(instance.slot, node), kubelet.pid);
  return kubelet;
}

/** Ends the node's kubelet, if it runs. Its containers keep running. */
export async function stopKubelet(table: ProcessTable, node: number): Promise<void> {
  await table.stop(kubeletName(node));
}

/** Cuts the node's power: all of its processes end at once, without notice. Its disk is kept. */
export async function cutPower(instance: Instance, table: ProcessTable, node: number): Promise<void> {
  await table.stop(holderName(node));
  for (const name of nodeProcesses(node)) table.forget(name);
  await clearCgroup(instance, node);
}

/** Removes the node's cgroups, as a reboot does. A kubelet spends seconds on each unknown cgroup that it finds. */
async function clearCgroup(instance: Instance, node: number): Promise<void> {
  await kill(processesIn(nodeCgroup(instance.slot, node)));
  await removeCgroup(nodeCgroup(instance.slot, node));
}

/** Loads an image archive into the node, which must be running. */
export async function loadImage(
  table: ProcessTable,
  binaries: NodeBinaries,
  node: number,
  archive: string,
): Promise<void> {
  const holder = table.running(holderName(node));
  if (holder === undefined) throw new Error(`${nodeName(node)} is not running.`);
  await importArchive(socketOf(holder), binaries.containerd, archive);
}

/** Names of the images in the node; none when the node does not run. */
export function listImages(table: ProcessTable, node: number): Promise<string[]> {
  const holder = table.running(holderName(node));
  if (holder === undefined || table.running(containerdName(node)) === undefined) return Promise.resolve([]);
  return imagesIn(socketOf(holder), mainBinary("containerd"));
}

async function ensureHolder(
  instance: Instance,
  table: ProcessTable,
  binaries: NodeBinaries,
  node: number,
): Promise<Component> {
  if (table.running(holderName(node)) === undefined) {
    // All processes of the node have ended with the holder of its namespaces.
    for (const name of nodeProcesses(node)) table.forget(name);
    await clearCgroup(instance, node);
  }
  ensureCgroup(nodeCgroup(instance.slot, node));
  preferPods(instance.slot);
  const unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const script = [
    "sh",
    "-c",
    NODE_SCRIPT,
    "sh",
    nodeFolder(instance, node),
    componentsRoot(),
    relative(componentsRoot(), binaries.pause),
  ];
  const holder = await table.ensure(holderName(node), inside(instance, [...unshare, ...script]), { isChild: true });
  const mark = `/proc/${holder.pid}/root/run/node-is-set-up`;
  await waitReady(holder, () => (existsSync(mark) ? undefined : "its mounts do not exist"));
  return holder;
}

function writeNodeFiles(instance: Instance, node: number, binaries: NodeBinaries): void {
  const folder = nodeFolder(instance, node);
  const config = join(folder, "config");
  for (const each of ["kubelet", "containerd", "log", "volumes", "config/cni"])
    mkdirSync(join(folder, each), { recursive: true });
  const leaf = kubeletLeaf(node);
  copyFileSync(pkiFile(instance, "ca.crt"), join(config, "ca.crt"));
  copyFileSync(pkiFile(instance, `${leaf.name}.crt`), join(config, "kubelet.crt"));
  copyFileSync(pkiFile(instance, `${leaf.name}.key`), join(config, "kubelet.key"));
  writeKubeconfig(instance, join(config, "kubeconfig"), leaf, apiServerUrl(nodeAddresses(node).apiAddress));
  writeFileSync(join(config, "kubelet.yaml"), kubeletConfig(node, nodeCgroup(instance.slot, node)));
  writeFileSync(join(config, "resolv.conf"), resolvConfText());
  writeFileSync(join(config, "cni", "10-bridge.conflist"), cniConfig(node));
  const paths = { runc: inNode(binaries.runc), cni: dirname(inNode(binaries.cni)), pauseImage: PAUSE_IMAGE };
  writeFileSync(join(config, "containerd.toml"), containerdConfig(paths));
}

/** Path of a component inside the node. */
function inNode(binary: string): string {
  return join(NODE_BINARIES, relative(componentsRoot(), binary));
}

/** Arguments that run a program in the node, as the only child of a process that waits for it. */
function insideNode(holder: Component, argv: readonly string[]): string[] {
  return ["nsenter", "--target", String(holder.pid), "--mount", "--pid", "--net", "--", ...argv];
}

/** Path of the runtime's socket from outside the node. */
function socketOf(holder: Component): string {
  return `/proc/${holder.pid}/root${CONTAINERD_SOCKET}`;
}
