import { memoryMb } from "../process-usage.ts";

/**
 * Memory of a process in megabytes of 1,000 kB. Heap and external memory are its own metrics, the rest is the kernel's.
 */
export interface Memory {
  /** Memory of this process alone: without the pages of Node's program, which all its processes share. */
  readonly anonymousMb: number;
  /** Objects and code on the heap, with garbage that was not collected yet. */
  readonly heapUsedMb: number;
  /** Memory that V8 has reserved for the heap. */
  readonly heapTotalMb: number;
  /** Memory that objects hold outside of the heap: buffers, HTTP/2. */
  readonly outsideMb: number;
}

/** @param metrics URL of the process's metrics */
export async function memoryOf(pid: number, metrics: string): Promise<Memory> {
  const text = await (await fetch(metrics)).text();
  const megabytes = (name: string): number => {
    const bytes = new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1];
    if (bytes === undefined) throw new Error(`Process ${pid} has no metric ${name}.`);
    return Math.round(Number(bytes) / 1e6);
  };
  return {
    anonymousMb: Math.round(memoryMb(pid, "RssAnon")),
    heapUsedMb: megabytes("nodejs_heap_size_used_bytes"),
    heapTotalMb: megabytes("nodejs_heap_size_total_bytes"),
    outsideMb: megabytes("nodejs_external_memory_bytes"),
  };
}
