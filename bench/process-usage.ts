import { readFileSync } from "node:fs";

// Memory and processor time of a process as the kernel reports them, without a request to the process.

/** Clock ticks per second in /proc: USER_HZ, 100 on every architecture that Linux reports it to. */
const TICKS_PER_SECOND = 100;

/** Text of a file of /proc/PID; empty when the process has ended. */
export function procFile(pid: string | number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // the process has ended
  }
}

/** Seconds of processor time of the process, user and system. @throws Error when the process has ended */
export function cpuSeconds(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Seconds from the start of the machine to that of the process. @throws Error when the process has ended */
export function startedAtSeconds(pid: number): number {
  return Number(statFields(pid)[19]) / TICKS_PER_SECOND;
}

/** @param field of /proc/PID/status, in kB there: `VmRSS`, `VmHWM`, `RssAnon` @returns in megabytes of 1,000 kB */
export function memoryMb(pid: number, field: string): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(procFile(pid, "status"))?.[1];
  if (kilobytes === undefined) throw new Error(`Process ${pid} has no ${field} in /proc.`);
  return Number(kilobytes) / 1000;
}

/** Fields of /proc/PID/stat from the third on: the name before them may hold spaces and parentheses. */
function statFields(pid: number): string[] {
  const stat = procFile(pid, "stat");
  if (stat === "") throw new Error(`Process ${pid} ended while it was measured.`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
