import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { componentsRoot, mainBinary } from "../components.ts";
import { type ImageArchive, PAUSE_IMAGE } from "../images.ts";
import { apiServerUrl, nodeAddresses } from "./addresses.ts";
import { kubeletLeaf, pkiFile } from "./certificates.ts";
import { ensureCgroup, enterUnifiedCgroup, kubeletCgroup, nodeCgroup, processesIn, removeCgroup } from "./cgroups.ts";
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

// What is a node here? A mount namespace and a process namespace of its own, held by one small process, and in them a
// real containerd and kubelet. So every node has its own /run, /var/lib/kubelet and /var/log, no two of them collide and
// none touches the host's; and killing the one process is a power cut: the kernel ends all that ran in the node, and its
// mounts go with it. Images, volumes and the kubelet's notes lie in the state folder and outlive it.

export interface NodeBinaries {
  readonly containerd: string;
  readonly kubelet: string;
  readonly runc: string;
  readonly cni: string;
  readonly pause: string;
}

/** The images that a node has from its first boot. */
export interface NodeImages {
  readonly archives: readonly ImageArchive[];
  /** Folder that image-store.ts made of them. */
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

/** Names of the node's processes in the process table, the one that holds the node first. */
export function nodeProcesses(node: number): string[] {
  return [holderName(node), containerdName(node), kubeletName(node)];
}

/** Boots the node as far as its container runtime, with these images in it. */
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
    // containerd looks for its shim and for mount programs there.
    { isChild: true, env: { PATH: `${dirname(inNode(binaries.containerd))}:${process.env.PATH ?? ""}` } },
  );
  const socket = socketOf(holder);
  await waitReady(containerd, () => socketMissing(socket));
  await importImages(socket, binaries.containerd, images.archives);
}

/** Starts the node's kubelet; whether it is Ready is for the API server to say. */
export async function ensureKubelet(
  instance: Instance,
  table: ProcessTable,
  binaries: NodeBinaries,
  node: number,
): Promise<Component> {
  const holder = table.running(holderName(node));
  if (holder === undefined) throw new Error(`${nodeName(node)} is not running`);
  const argv = insideNode(holder, [inNode(binaries.kubelet), ...kubeletFlags(node)]);
  const kubelet = await table.ensure(kubeletName(node), argv, { isChild: true });
  // Before it opens its first connection: the firewall of a partition knows sockets by where they were opened.
  enterUnifiedCgroup(kubeletCgroup(instance.slot, node), kubelet.pid);
  return kubelet;
}

/** Ends the node's kubelet, if it runs; its containers go on. */
export async function stopKubelet(table: ProcessTable, node: number): Promise<void> {
  await table.stop(kubeletName(node));
}

/** Cuts the node's power: all of its processes end at once, nothing is told to anybody, its disk stays. */
export async function cutPower(instance: Instance, table: ProcessTable, node: number): Promise<void> {
  await table.stop(holderName(node));
  for (const name of nodeProcesses(node)) table.forget(name);
  await clearCgroup(instance, node);
}

/** A machine boots without cgroups. The kubelet spends seconds on each that it finds and cannot explain. */
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
  if (holder === undefined) throw new Error(`${nodeName(node)} is not running`);
  await importArchive(socketOf(holder), binaries.containerd, archive);
}

/** Names of the images in the node; none when it does not run. */
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
    // What ran in the node ended with its holder.
    for (const name of nodeProcesses(node)) table.forget(name);
    await clearCgroup(instance, node);
  }
  ensureCgroup(nodeCgroup(instance.slot, node));
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
  await waitReady(holder, () => (existsSync(mark) ? undefined : "its mounts are not made"));
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

/** A component's path as the node sees it. */
function inNode(binary: string): string {
  return join(NODE_BINARIES, relative(componentsRoot(), binary));
}

/** argv that runs a program in the node, as the one child of a process that waits for it. */
function insideNode(holder: Component, argv: readonly string[]): string[] {
  return ["nsenter", "--target", String(holder.pid), "--mount", "--pid", "--net", "--", ...argv];
}

/** The runtime's socket, seen from outside the node. */
function socketOf(holder: Component): string {
  return `/proc/${holder.pid}/root${CONTAINERD_SOCKET}`;
}
