import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { Expectations } from "#runtime/expectations.ts";
import type { Check } from "#runtime/health.ts";
import type { Metrics } from "#runtime/metrics.ts";
import type { Caches } from "./caches.ts";

// Whether the caches show what the API server has: everything that was there, and what this process has written.

/**
 * A replica that has not read everything is not ready, so that a rollout waits for it. But only pods that are ready are asked by the
 * API server, and reading may take an answer of ours (a conversion): after this long the webhooks alone decide, in milliseconds.
 */
export const READ_WITHIN_MS = 10_000;
/** For so long who takes over waits until its caches follow again, in milliseconds. Steps that matter ask the API server itself. */
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
 * Whether a process with shards has yet to read what it is to read. One that waits, for another number of shards or for a shard of its own, has nothing to read:
 * it starts no longer than others do.
 * @param caches of each shard that it leads, or is about to
 * @param isNew whether it started less than READ_WITHIN_MS ago
 */
export function isStartingWith(caches: readonly Caches[], isNew: boolean): boolean {
  return caches.length === 0 ? isNew : !caches.every(isSynced);
}

/** @returns false when the signal aborted before */
export async function allSynced(caches: Caches, signal: AbortSignal): Promise<boolean> {
  try {
    await Promise.all(Object.values(caches).map((cache) => cache.whenSynced(signal)));
    return true;
  } catch (thrown) {
    if (signal.aborted) return false;
    throw thrown;
  }
}

/** Who has stood by for longer has its watches opened again, in milliseconds: what ended the one before may have silenced them. */
const STOOD_BY_MS = 10_000;

/**
 * Waits until all caches follow, or have been waited for long enough: a standby's may wait for their next try, as after an outage in which the one
 * before has ended, or follow a watch that is dead and has not been found out.
 * @param readMs when they had read everything, by the monotonic clock
 */
export async function followedAgain(caches: Caches, readMs: number, leading: AbortSignal, clock: Clock): Promise<void> {
  if (clock.monotonicMs() - readMs > STOOD_BY_MS) for (const cache of Object.values(caches)) cache.renew();
  const late = new AbortController();
  const cancel = clock.after(FOLLOWS_WITHIN_MS, () => late.abort());
  await allSynced(caches, AbortSignal.any([leading, late.signal])).finally(cancel);
}

/** What the caches have yet to show of our own writes. */
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
      log.error({ resource: what }, "a cache did not show a write of ours in time");
    },
  );
}
