import { BILLION, limitOf } from "#api/quantity.ts";

/**
 * Share of the memory limit for Go's heap, in percent. The rest is for memory that the garbage collector does not
 * count, and for short peaks.
 */
const HEAP_PERCENT = 90n;

/**
 * The value of GOMAXPROCS for a CPU limit: whole cores, rounded down, at least 1.
 * @returns undefined without a limit, or when it is no quantity
 */
export function goMaxProcs(cpuLimit: string | number | undefined): bigint | undefined {
  const cores = limitOf(cpuLimit);
  return cores === undefined ? undefined : cores / BILLION || 1n;
}

/**
 * The value of GOMEMLIMIT in bytes for a memory limit. Near it Go collects garbage more often, which slows etcd down
 * but avoids an OOM kill. Pages of the database file do not count, and the kernel reclaims them.
 * @returns undefined without a limit, or when it is no quantity
 */
export function goMemLimit(memoryLimit: string | number | undefined): bigint | undefined {
  const limit = limitOf(memoryLimit);
  return limit === undefined ? undefined : (limit * HEAP_PERCENT) / (100n * BILLION);
}
