import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../failure.ts";
import { identify, type ProcessId } from "../proc.ts";
import { currentMounts, type Mount } from "./mounts.ts";

/** Limit for the kernel to release a cgroup after its processes have ended, in milliseconds. */
const RELEASE_MS = 10_000;

/**
 * Weight of all pods of an instance together, as a multiple of the kernel's default. With the default they would get as
 * much processor time as one program of Kubernetes, of which about ten run beside them. On a busy machine etcd in the
 * pods would then miss its deadlines.
 */
const PODS_WEIGHT = 8;
/** The kernel's default weights, by the file of cgroup v1 and of v2. */
const USUAL_WEIGHTS = [
  ["cpu.shares", 1024],
  ["cpu.weight", 100],
] as const;

/** Path of the cgroup, in every hierarchy, that contains all cgroups of an instance. */
export function instanceCgroup(slot: number): string {
  return `/eco-${slot}`;
}

/** Path of a node's cgroup, the kubelet's `cgroupRoot`. */
export function nodeCgroup(slot: number, node: number): string {
  return `${instanceCgroup(slot)}/node-${node}`;
}

/** Path of the cgroup, in the v2 hierarchy only, by which the firewall recognizes a node's kubelet. */
export function kubeletCgroup(slot: number, node: number): string {
  return `${instanceCgroup(slot)}/kubelet-${node}`;
}

/**
 * Mount points of the cgroup hierarchies: one with v2, one for each set of controllers with v1, both on hybrid systems.
 */
export function hierarchies(mounts: readonly Mount[]): string[] {
  return mounts.filter((mount) => mount.type === "cgroup" || mount.type === "cgroup2").map((mount) => mount.point);
}

/** Mount point of the cgroup v2 hierarchy; undefined on a system without it. */
export function unifiedHierarchy(mounts: readonly Mount[]): string | undefined {
  return mounts.find((mount) => mount.type === "cgroup2")?.point;
}

/** Whether cgroup v2 alone manages resources: then each level must enable controllers for the next. */
function isUnifiedOnly(mounts: readonly Mount[]): boolean {
  return !mounts.some((mount) => mount.type === "cgroup");
}

/** Makes the cgroup in every hierarchy. The kubelet requires its root before it starts. */
export function ensureCgroup(path: string): void {
  const mounts = currentMounts();
  for (const hierarchy of hierarchies(mounts)) {
    let folder = hierarchy;
    for (const part of path.split("/").filter(Boolean)) {
      if (isUnifiedOnly(mounts)) enableControllersBelow(folder);
      folder = join(folder, part);
      if (existsSync(folder)) continue;
      mkdirSync(folder);
      inheritCpuset(folder);
    }
  }
}

function enableControllersBelow(folder: string): void {
  const controllers = readFileSync(join(folder, "cgroup.controllers"), "utf8").trim().split(" ").filter(Boolean);
  writeFileSync(join(folder, "cgroup.subtree_control"), controllers.map((name) => `+${name}`).join(" "));
}

/** Copies the parent's processors and memory nodes: a new cpuset of cgroup v1 has none, and no process can enter it. */
function inheritCpuset(folder: string): void {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    const own = join(folder, file);
    if (existsSync(own)) writeFileSync(own, readFileSync(join(folder, "..", file)));
  }
}

/** Gives the pods of an instance more processor time than the kernel's default. The cgroup must exist. */
export function preferPods(slot: number): void {
  for (const hierarchy of hierarchies(currentMounts())) {
    const folder = join(hierarchy, instanceCgroup(slot));
    for (const [file, usual] of USUAL_WEIGHTS) {
      const own = join(folder, file);
      if (existsSync(own)) writeFileSync(own, String(PODS_WEIGHT * usual));
    }
  }
}

/** Moves the process into a cgroup of the v2 hierarchy. @returns false on a system without that hierarchy */
export function enterUnifiedCgroup(path: string, pid: number): boolean {
  const unified = unifiedHierarchy(currentMounts());
  if (unified === undefined) return false;
  mkdirSync(join(unified, path), { recursive: true });
  writeFileSync(join(unified, path, "cgroup.procs"), String(pid));
  return true;
}

/** Processes in the cgroup and below it, in all hierarchies. */
export function processesIn(path: string): ProcessId[] {
  const pids = existingFolders(path).flatMap(withDescendants).flatMap(pidsIn);
  return [...new Set(pids)].flatMap((pid) => identify(pid) ?? []);
}

/**
 * Removes the cgroup and all below it, in every hierarchy. Its processes must have ended.
 * @throws Failure when the kernel does not release one
 */
export async function removeCgroup(path: string): Promise<void> {
  const deadlineMs = performance.now() + RELEASE_MS;
  for (const root of existingFolders(path)) {
    for (const folder of withDescendants(root).reverse()) {
      while (!tryToRemove(folder)) {
        if (performance.now() > deadlineMs) throw new Failure(`Cannot remove cgroup ${folder}: it is still in use.`);
        await sleep(20);
      }
    }
  }
}

function tryToRemove(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return true;
    if ((thrown as NodeJS.ErrnoException).code === "EBUSY") return false;
    throw thrown;
  }
}

function existingFolders(path: string): string[] {
  return hierarchies(currentMounts())
    .map((hierarchy) => join(hierarchy, path))
    .filter((folder) => existsSync(folder));
}

/** The folder and all below it, parents before children. */
function withDescendants(folder: string): string[] {
  const children = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [folder, ...children.flatMap((entry) => withDescendants(join(folder, entry.name)))];
}

function pidsIn(folder: string): number[] {
  try {
    return readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return []; // the cgroup was removed, or is a v2 cgroup that can hold no processes
  }
}
