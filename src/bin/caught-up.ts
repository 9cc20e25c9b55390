import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { Expectations } from "#runtime/expectations.ts";
import type { Check } from "#runtime/health.ts";
import type { Metrics } from "#runtime/metrics.ts";
import type { Caches } from "./caches.ts";

// Checks that the caches are current: they hold all existing objects, and this process's own writes.

/**
 * Time in milliseconds after which readiness no longer waits for the caches. A rollout waits for a replica that is not
 * ready. But the API server calls only ready pods, and reading may need a conversion by this replica.
 */
export const READ_WITHIN_MS = 10_000;
/**
 * Longest time in milliseconds that a new leader waits for its caches to be current. Steps that matter are checked at
 * the API server.
 */
const FOLLOWS_WITHIN_MS = 10_000;

/** A check for each cache: whether it has read everything. */
export function readinessOf(caches: Caches, clock: Clock): readonly Check[] {
  const untilMs = clock.monotonicMs() + READ_WITHIN_MS;
  return Object.entries(caches).map(([name, cache]) => {
    const isMissing = (): boolean => !cache.synced && clock.monotonicMs() < untilMs;
    return { name: `cache-${name}`, fault: () => (isMissing() ? "has not read the whole state yet" : undefined) };
  });
}

export function isSynced(caches: Caches): boolean {
  return Object.values(caches).every(({ synced }) => synced);
}

/**
 * Whether a process with shards still has to sync its caches. A process without a shard has no caches to sync. It counts
 * as starting for as long as other processes may need.
 * @param caches caches of each shard that the process leads, or is about to lead
 * @param isNew whether the process started less than READ_WITHIN_MS ago
 */
export function isStartingWith(caches: readonly Caches[], isNew: boolean): boolean {
  return caches.length === 0 ? isNew : !caches.every(isSynced);
}

/** Waits until all caches are synced. @returns false when the signal aborted before */
export async function allSynced(caches: Caches, signal: AbortSignal): Promise<boolean> {
  try {
    await Promise.all(Object.values(caches).map((cache) => cache.whenSynced(signal)));
    return true;
  } catch (thrown) {
    if (signal.aborted) return false;
    throw thrown;
  }
}

/**
 * A new leader with caches that were filled this long ago, in milliseconds, reopens its watches: what ended the previous
 * leader may have broken them. Smaller: leaders of a rollout reopen watches needlessly. Larger: one may start with a
 * broken watch.
 */
const STOOD_BY_MS = 10_000;

/**
 * Waits until all caches are current, with a deadline. After an outage a standby's caches may be in backoff, or use a
 * watch that is dead without having failed.
 * @param readMs when the caches had read everything, by the monotonic clock
 */
export async function followedAgain(caches: Caches, readMs: number, leading: AbortSignal, clock: Clock): Promise<void> {
  if (clock.monotonicMs() - readMs > STOOD_BY_MS) for (const cache of Object.values(caches)) cache.renew();
  const late = new AbortController();
  const cancel = clock.after(FOLLOWS_WITHIN_MS, () => late.abort());
  await allSynced(caches, AbortSignal.any([leading, late.signal])).finally(cancel);
}

/** Tracks which of the operator's own writes the caches do not show yet. */
export function expectationsOf(
  caches: Caches,
  { metrics, clock, log }: { metrics: Metrics; clock: Clock; log: Log },
): Expectations {
  const byPlural = new Map<string, Caches[keyof Caches]>();
  for (const cache of Object.values(caches)) byPlural.set(cache.resource.plural, cache);
  return new Expectations(
    clock,
    ({ plural }) => byPlural.get(plural),
    (what) => {
      metrics.expectationsLost.inc();
      log.error({ resource: what }, "a cache did not show a write of the operator in time");
    },
  );
}
