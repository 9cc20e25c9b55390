import type { CacheStats } from "#kube/cache.ts";
import type { EventStats } from "#kube/events.ts";

/** Caches, by resource. */
export type CountingCaches = Readonly<Record<string, { readonly stats: CacheStats }>>;

/** What counts for itself: everything that is led, or one shard. */
export interface Counting {
  readonly events: { readonly stats: EventStats };
}

type Counts = Map<string, number>;

/** What was counted for shards that are no longer led here: it belongs to the process, and does not go with them. No larger with each of them. */
export class PastCounts {
  /** By what has become of them. */
  readonly events: Counts = new Map();
  /** By resource. */
  readonly reads: Counts = new Map();
  readonly listenerFailures: Counts = new Map();
  /** By resource, then by reason. */
  readonly restarts = new Map<string, Counts>();

  /** Adds those of what has stopped to work. */
  addEvents({ events }: Counting): void {
    for (const [outcome, count] of Object.entries(events.stats)) increase(this.events, outcome, count);
  }

  /** Adds those of caches that have ended. */
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
