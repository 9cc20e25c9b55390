// Accidents of clusters, caused on a local Kubernetes. The benchmarks use them, too, so nothing here depends on the
// tests' instance.

import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Instance } from "#dev/local/instance.ts";
import { tableOf } from "#dev/local/processes.ts";

/**
 * Kills etcd in this pod with SIGKILL, as the kernel does when memory runs out. The process is found by the pod's uid
 * in its cgroup.
 */
export async function killEtcd(podUid: string): Promise<void> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [cgroup, name] = await Promise.all([
      readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => ""), // the process has ended
      readFile(`/proc/${pid}/comm`, "utf8").catch(() => ""),
    ]);
    if (cgroup.includes(podUid) && name.trim() === "etcd") process.kill(Number(pid), "SIGKILL");
  }
}

/** Empties a volume, as a replaced disk does. A running process notices only at its next start. */
export async function emptyVolume(instance: Pick<Instance, "folder">, node: string, volume: string): Promise<void> {
  const folder = join(instance.folder, "nodes", node, "volumes", volume);
  const entries = await readdir(folder);
  if (entries.length === 0) throw new Error(`${folder} is empty already`);
  for (const entry of entries) await rm(join(folder, entry), { recursive: true });
}

/**
 * Raises the alarm CORRUPT, as etcd's own check does when members' data differs; from then on etcd refuses reads and
 * writes.
 * @param address of a client port, HOST:PORT
 * @param memberId in decimal; "0" for no particular member
 */
export async function raiseCorrupt(address: string, memberId: string): Promise<void> {
  const body = JSON.stringify({ action: "ACTIVATE", memberID: memberId, alarm: "CORRUPT" });
  const answer = await fetch(`http://${address}/v3/maintenance/alarm`, { method: "POST", body });
  if (!answer.ok) throw new Error(`the alarm was refused: ${await answer.text()}`);
}

/** Overwrites etcd's data in a volume with zeros, as a failing disk may: etcd refuses to start on it. */
export async function damageVolume(instance: Pick<Instance, "folder">, node: string, volume: string): Promise<void> {
  const folder = join(instance.folder, "nodes", node, "volumes", volume);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    await writeFile(file, Buffer.alloc((await stat(file)).size), { flag: "r+" });
  }
}

/** Freezes the API server until disposed: calls to it hang, and watches are silent. */
export function freezeApiServer(instance: Instance): Disposable {
  const component = tableOf(instance).running("kube-apiserver");
  if (component === undefined) throw new Error("no API server runs");
  return freeze(component.pid);
}

/** Freezes kube-proxy until disposed: Services keep their current routes. */
export async function freezeProxy(instance: Instance): Promise<Disposable> {
  const shell = tableOf(instance).running("kube-proxy"); // the shell restarts kube-proxy whenever it ends
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""); // the process has ended
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (stat.includes("(kube-proxy)") && parent === String(shell?.pid)) return freeze(Number(pid));
  }
  throw new Error("no kube-proxy runs");
}

function freeze(pid: number): Disposable {
  const thaw = () => void process.kill(pid, "SIGCONT");
  // An interrupted test run must not leave a Kubernetes that cannot be shut down.
  process.once("exit", thaw);
  process.kill(pid, "SIGSTOP");
  return {
    [Symbol.dispose]: () => {
      process.off("exit", thaw);
      thaw();
    },
  };
}
