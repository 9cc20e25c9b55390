import type { CacheStats } from "#kube/cache.ts";
import type { EventStats } from "#kube/events.ts";

/** Caches by resource. */
export type CountingCaches = Readonly<Record<string, { readonly stats: CacheStats }>>;

/** World of everything that this process leads, or of one shard. */
export interface Counting {
  readonly events: { readonly stats: EventStats };
}

type Counts = Map<string, number>;

/**
 * Counts of shards that this process no longer leads, so that its counters never fall. Its size does not grow with the
 * number of shards.
 */
export class PastCounts {
  /** Events, by outcome. */
  readonly events: Counts = new Map();
  /** Full reads, by resource. */
  readonly reads: Counts = new Map();
  readonly listenerFailures: Counts = new Map();
  /** Restarts of watches, by resource, then by reason. */
  readonly restarts = new Map<string, Counts>();

  /** Adds the event counts of a world that has stopped. */
  addEvents({ events }: Counting): void {
    for (const [outcome, count] of Object.entries(events.stats)) increase(this.events, outcome, count);
  }

  /** Adds the counts of caches that have ended. */
  addCaches(caches: CountingCaches): void {
    for (const [resource, { stats }] of Object.entries(caches)) {
      increase(this.reads, resource, stats.syncs);
      increase(this.listenerFailures, resource, stats.listenerFailures);
      const restarts = this.restarts.get(resource) ?? new Map<string, number>();
      this.restarts.set(resource, restarts);
      for (const [reason, count] of Object.entries(stats.restarts)) increase(restarts, reason, count);
    }
  }
}

function increase(counts: Counts, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}
