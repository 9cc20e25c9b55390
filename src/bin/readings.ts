import type { Clock } from "#base/clock.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Caches } from "./caches.ts";
import { isSynced } from "./caught-up.ts";

// Why are the caches of a lost shard kept for a while?
//   The shard usually comes back. An API server outage of ten seconds takes all shards from all processes, and
//   afterwards they get them back. If each process listed thousands of objects again, that load could overload the API
//   server again and again.
// Does state of an old term leak into a new one?
//   No decisions, memories or expectations do. A cache is independent of terms: it follows the API server, as a
//   standby's does. After an outage it may be in backoff. So it resumes at once when the shard comes back, and the new
//   term waits for it.

/** Time in milliseconds for which the caches are kept: longer than the processes need to agree on the shards again. */
const KEPT_MS = 60_000;

/** The caches of one shard and their client. */
interface Reading {
  readonly client: Pick<KubeClient, "close">;
  readonly caches: Caches;
}

interface Kept extends Reading {
  readonly ended: AbortController;
  /** Cancels the scheduled end; undefined: the caches are in use. */
  cancel: (() => void) | undefined;
}

/** The caches of each shard that this process leads, is about to lead, or led a moment ago. */
export class Readings {
  readonly #open: (shard: number) => Reading;
  readonly #onEnd: (caches: Caches) => void;
  readonly #clock: Clock;
  readonly #kept = new Map<number, Kept>();

  /** @param onEnd receives caches that have ended, with their counts */
  constructor(open: (shard: number) => Reading, onEnd: (caches: Caches) => void, clock: Clock) {
    this.#open = open;
    this.#onEnd = onEnd;
    this.#clock = clock;
  }

  /** All caches at present. */
  get caches(): readonly Caches[] {
    return [...this.#kept.values()].map(({ caches }) => caches);
  }

  /** Resumes the caches of this shard, or starts new ones. */
  take(shard: number): Caches {
    const kept = this.#kept.get(shard);
    if (kept === undefined) return this.#begin(shard);
    kept.cancel?.();
    kept.cancel = undefined;
    for (const cache of Object.values(kept.caches)) cache.renew();
    return kept.caches;
  }

  /** Releases the caches of a shard: they end after a while unless taken again, or at once when they are not synced. */
  leave(shard: number): void {
    const kept = this.#kept.get(shard);
    if (kept === undefined) return;
    if (isSynced(kept.caches)) kept.cancel = this.#clock.after(KEPT_MS, () => void this.#end(shard, kept));
    else void this.#end(shard, kept);
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    await Promise.all([...this.#kept].map(([shard, kept]) => this.#end(shard, kept)));
  }

  #begin(shard: number): Caches {
    const kept: Kept = { ...this.#open(shard), ended: new AbortController(), cancel: undefined };
    for (const cache of Object.values(kept.caches)) cache.start(kept.ended.signal);
    this.#kept.set(shard, kept);
    return kept.caches;
  }

  async #end(shard: number, { client, caches, ended, cancel }: Kept): Promise<void> {
    cancel?.();
    this.#kept.delete(shard);
    ended.abort();
    this.#onEnd(caches);
    await client.close();
  }
}
