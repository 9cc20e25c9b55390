import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A process, identified by its PID and its start time (clock ticks since boot), as PIDs are reused. */
export interface ProcessId {
  readonly pid: number;
  readonly startTicks: string;
}

/**
 * State letter, parent and start time from the text of /proc/PID/stat. The name in it may have spaces and parentheses.
 */
export function parseStat(stat: string): { state: string; parent: number; startTicks: string } {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", parent: Number(fields[1]), startTicks: fields[19] ?? "" };
}

/** The running process with this PID; undefined when there is none, or only its zombie is left. */
export function identify(pid: number): ProcessId | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const { state, startTicks } = parseStat(stat);
  return state === "Z" || state === "X" ? undefined : { pid, startTicks };
}

export function isAlive(process: ProcessId): boolean {
  return identify(process.pid)?.startTicks === process.startTicks;
}

/** Sends a signal to this process. Does nothing when it has ended, even if another process has its PID now. */
export function signal(target: ProcessId, name: NodeJS.Signals): void {
  if (!isAlive(target)) return;
  try {
    process.kill(target.pid, name);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ESRCH") throw thrown;
  }
}

/** PIDs of the children of a process. */
export function childrenOf(pid: number): number[] {
  const text = readIfThere(`/proc/${pid}/task/${pid}/children`) ?? "";
  return text.split(" ").filter(Boolean).map(Number);
}

/** PID of the parent; 0 when there is none or the process has ended. */
export function parentOf(pid: number): number {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat === undefined ? 0 : parseStat(stat).parent;
}

/** PIDs of the parent, its parent, and so on. */
export function ancestorsOf(pid: number): number[] {
  const parent = parentOf(pid);
  return parent === 0 ? [] : [parent, ...ancestorsOf(parent)];
}

/**
 * Processes that were started with `NAME=value` in their environment: our own are recognized so, whatever their parent.
 */
export function withEnvironment(name: string, value: string): ProcessId[] {
  const entry = `${name}=${value}`;
  return allPids()
    .filter((pid) => readIfThere(`/proc/${pid}/environ`)?.split("\0").includes(entry))
    .flatMap((pid) => identify(pid) ?? []);
}

/** Processes in the network namespace with this inode number. */
export function insideNetwork(inode: number): ProcessId[] {
  return allPids()
    .filter((pid) => namespaceOf(pid, "net") === `net:[${inode}]`)
    .flatMap((pid) => identify(pid) ?? []);
}

/** Whether the process is in our own process namespace, and not in one below it. */
export function sharesOurProcessNumbers(pid: number): boolean {
  return namespaceOf(pid, "pid") === namespaceOf(process.pid, "pid");
}

function namespaceOf(pid: number, kind: "net" | "pid"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return undefined; // the process has ended
  }
}

function allPids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // the process has ended
  }
}
