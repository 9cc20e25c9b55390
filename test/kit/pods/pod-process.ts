import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A process of a pod, other than its sandbox process. */
export interface PodProcess {
  readonly pid: number;
  /** Folder of the pod's cgroup below `/sys/fs/cgroup`, which contains that of the container. */
  readonly cgroup: string;
}

/** Processes of a pod, found by its uid in their cgroups. */
export function processesOf(podUid: string): readonly PodProcess[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    const lines = textOf(`/proc/${pid}/cgroup`).split("\n");
    const line =
      lines.find((each) => /:(?:[^:]*,)?memory(?:,[^:]*)?:/.test(each)) ?? lines.find((each) => /^0::/.test(each));
    const path = line?.slice(line.indexOf(":/") + 1) ?? "";
    if (!path.includes(podUid) || textOf(`/proc/${pid}/comm`).trim() === "pause") return [];
    return [{ pid: Number(pid), cgroup: path.slice(0, path.lastIndexOf("/")) }];
  });
}

export interface Peak {
  /** Peak resident memory of the process. */
  readonly residentBytes: number;
  /** Peak memory of the whole pod as the kernel counts it, with socket buffers and page cache. */
  readonly podBytes: number;
}

/** Measures the process until it ends. */
export async function peakUntilEnd({ pid, cgroup }: PodProcess): Promise<Peak> {
  let peak: Peak = { residentBytes: 0, podBytes: 0 };
  for (;;) {
    const resident = /^VmHWM:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/status`))?.[1];
    if (resident === undefined) return peak;
    const files = [`/sys/fs/cgroup${cgroup}/memory.peak`, `/sys/fs/cgroup/memory${cgroup}/memory.max_usage_in_bytes`];
    const pod = Math.max(...files.map((file) => Number(textOf(file))));
    peak = { residentBytes: Number(resident) * 1024, podBytes: Math.max(pod, peak.podBytes) };
    await sleep(100);
  }
}

/** Empty when the process has ended. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
