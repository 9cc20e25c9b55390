// What happens to clusters, done to one of the local Kubernetes. Also used by the benches, so nothing here knows the tests' instance.

import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Instance } from "#dev/local/instance.ts";
import { tableOf } from "#dev/local/processes.ts";

/** Ends etcd in this pod as an out-of-memory kill would: SIGKILL to its process, found by the pod's uid in its cgroup. */
export async function killEtcd(podUid: string): Promise<void> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [cgroup, name] = await Promise.all([
      readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => ""), // it ended meanwhile
      readFile(`/proc/${pid}/comm`, "utf8").catch(() => ""),
    ]);
    if (cgroup.includes(podUid) && name.trim() === "etcd") process.kill(Number(pid), "SIGKILL");
  }
}

/** Empties a volume, as a disk that was swapped does. What runs on it notices only when it starts the next time. */
export async function emptyVolume(instance: Pick<Instance, "folder">, node: string, volume: string): Promise<void> {
  const folder = join(instance.folder, "nodes", node, "volumes", volume);
  const entries = await readdir(folder);
  if (entries.length === 0) throw new Error(`${folder} is empty already`);
  for (const entry of entries) await rm(join(folder, entry), { recursive: true });
}

/**
 * Raises the alarm CORRUPT as etcd's own check does when members' data differs; from then on etcd refuses reads and writes.
 * @param address of a client port, HOST:PORT
 * @param memberId in decimal; "0" for no member in particular
 */
export async function raiseCorrupt(address: string, memberId: string): Promise<void> {
  const body = JSON.stringify({ action: "ACTIVATE", memberID: memberId, alarm: "CORRUPT" });
  const answer = await fetch(`http://${address}/v3/maintenance/alarm`, { method: "POST", body });
  if (!answer.ok) throw new Error(`the alarm was refused: ${await answer.text()}`);
}

/** Overwrites what etcd has in a volume with zeros, as a failing disk may: etcd refuses to start on it. */
export async function damageVolume(instance: Pick<Instance, "folder">, node: string, volume: string): Promise<void> {
  const folder = join(instance.folder, "nodes", node, "volumes", volume);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    await writeFile(file, Buffer.alloc((await stat(file)).size), { flag: "r+" });
  }
}

/** Holds the API server until disposed: calls to it hang, and watches fall silent. */
export function freezeApiServer(instance: Instance): Disposable {
  const component = tableOf(instance).running("kube-apiserver");
  if (component === undefined) throw new Error("there is no API server to freeze");
  return freeze(component.pid);
}

/** Holds kube-proxy until disposed: Services lead where they led before. */
export async function freezeProxy(instance: Instance): Promise<Disposable> {
  const shell = tableOf(instance).running("kube-proxy"); // which starts it whenever it ends
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""); // it ended meanwhile
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (stat.includes("(kube-proxy)") && parent === String(shell?.pid)) return freeze(Number(pid));
  }
  throw new Error("there is no kube-proxy to freeze");
}

function freeze(pid: number): Disposable {
  const thaw = () => void process.kill(pid, "SIGCONT");
  // Who interrupts the tests should not find a Kubernetes that cannot even be taken down.
  process.once("exit", thaw);
  process.kill(pid, "SIGSTOP");
  return {
    [Symbol.dispose]: () => {
      process.off("exit", thaw);
      thaw();
    },
  };
}
