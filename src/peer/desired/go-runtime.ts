import { BILLION, limitOf } from "#api/quantity.ts";

/** What of the limit Go may use, in percent: the rest is for what its collector does not count, and for a moment of too much. */
const HEAP_PERCENT = 90n;

/**
 * How many operating system threads may run Go code, from a CPU limit: whole cores, rounded down, 1 at least.
 * @returns undefined without a limit, or when it is no quantity
 */
export function goMaxProcs(cpuLimit: string | number | undefined): bigint | undefined {
  const cores = limitOf(cpuLimit);
  return cores === undefined ? undefined : cores / BILLION || 1n;
}

/**
 * From how many bytes on Go collects garbage more eagerly, from a memory limit: rather slow than killed.
 * Pages of the database file are not Go's, and the kernel takes them back by itself.
 * @returns undefined without a limit, or when it is no quantity
 */
export function goMemLimit(memoryLimit: string | number | undefined): bigint | undefined {
  const limit = limitOf(memoryLimit);
  return limit === undefined ? undefined : (limit * HEAP_PERCENT) / (100n * BILLION);
}
