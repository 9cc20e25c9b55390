import { readFileSync } from "node:fs";

// What the kernel says of a process. The process itself is not asked.

/** Clock ticks per second in /proc: USER_HZ, 100 on every architecture that Linux reports it to. */
const TICKS_PER_SECOND = 100;

/** A file of /proc/PID; empty when the process has ended meanwhile. */
export function procFile(pid: string | number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // ended while we looked
  }
}

/** Seconds of processor time that it has used, its own and the kernel's for it. @throws Error when it has ended */
export function cpuSeconds(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Seconds from the start of the machine to that of the process. @throws Error when it has ended */
export function startedAtSeconds(pid: number): number {
  return Number(statFields(pid)[19]) / TICKS_PER_SECOND;
}

/** @param field of /proc/PID/status, in kB there: `VmRSS`, `VmHWM`, `RssAnon` @returns in megabytes of 1,000 kB */
export function memoryMb(pid: number, field: string): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(procFile(pid, "status"))?.[1];
  if (kilobytes === undefined) throw new Error(`process ${pid} says nothing of its ${field}`);
  return Number(kilobytes) / 1000;
}

/** Fields of /proc/PID/stat from the third on: the name before them may hold spaces and parentheses. */
function statFields(pid: number): string[] {
  const stat = procFile(pid, "stat");
  if (stat === "") throw new Error(`process ${pid} ended while it was measured`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
