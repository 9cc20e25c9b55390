import { memoryMb } from "../process-usage.ts";

/** Where memory is, in megabytes of 1,000 kB; heap and outside are the process's own words, the rest the kernel's. */
export interface Memory {
  /** Memory that only this process has: without the pages of Node's program, which all processes share that run it. */
  readonly anonymousMb: number;
  /** Objects and code, as far as the garbage collector knows, with what nobody needs any more. */
  readonly heapUsedMb: number;
  /** What V8 holds for them. */
  readonly heapTotalMb: number;
  /** What objects hold outside of it: buffers, HTTP/2. */
  readonly outsideMb: number;
}

/** @param metrics the URL where the process shows its metrics */
export async function memoryOf(pid: number, metrics: string): Promise<Memory> {
  const text = await (await fetch(metrics)).text();
  const megabytes = (name: string): number => {
    const bytes = new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1];
    if (bytes === undefined) throw new Error(`process ${pid} says nothing of ${name}`);
    return Math.round(Number(bytes) / 1e6);
  };
  return {
    anonymousMb: Math.round(memoryMb(pid, "RssAnon")),
    heapUsedMb: megabytes("nodejs_heap_size_used_bytes"),
    heapTotalMb: megabytes("nodejs_heap_size_total_bytes"),
    outsideMb: megabytes("nodejs_external_memory_bytes"),
  };
}
