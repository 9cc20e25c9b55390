import { billionthsOf } from "#api/quantity.ts";

const BILLION = 1_000_000_000n;
/** What of the limit Go may use, in percent: the rest is for what its collector does not count, and for a moment of too much. */
const HEAP_PERCENT = 90n;

/**
 * How many operating system threads may run Go code, from a CPU limit: whole cores, rounded down, 1 at least.
 * @returns undefined without a limit, or when it is no quantity
 */
export function goMaxProcs(cpuLimit: string | number | undefined): bigint | undefined {
  const cores = amountOf(cpuLimit);
  return cores === undefined ? undefined : cores / BILLION || 1n;
}

/**
 * From how many bytes on Go collects garbage more eagerly, from a memory limit: rather slow than killed.
 * Pages of the database file are not Go's, and the kernel takes them back by itself.
 * @returns undefined without a limit, or when it is no quantity
 */
export function goMemLimit(memoryLimit: string | number | undefined): bigint | undefined {
  const limit = amountOf(memoryLimit);
  return limit === undefined ? undefined : (limit * HEAP_PERCENT) / (100n * BILLION);
}

/** In billionths; a limit of nothing is none. */
function amountOf(limit: string | number | undefined): bigint | undefined {
  const amount = limit === undefined ? undefined : billionthsOf(limit);
  return amount !== undefined && amount > 0n ? amount : undefined;
}
