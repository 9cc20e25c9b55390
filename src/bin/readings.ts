import type { Clock } from "#base/clock.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Caches } from "./caches.ts";
import { isSynced } from "./caught-up.ts";

// Why is what was read of a shard kept for a while when the shard goes?
//   Mostly it comes back. An API server that answers nobody for ten seconds takes all shards from all processes, and when it answers they get them again.
//   If each read thousands of objects anew then, that alone could keep the API server from answering, again and again.
// Does anything of an old term meet a new one?
//   Nothing that was decided, remembered or expected. A cache knows nothing of terms: it follows what the API server has, as that of a process that waits
//   for a lease does. But an outage cuts it off, too, and it tries ever more rarely: so it goes on at once, from where it was, and is waited for.

/** For so long, in milliseconds: longer than everybody needs to agree once more who has what. */
const KEPT_MS = 60_000;

/** What is read of one shard, and with what. */
interface Reading {
  readonly client: Pick<KubeClient, "close">;
  readonly caches: Caches;
}

interface Kept extends Reading {
  readonly ended: AbortController;
  /** Takes back that it ends; undefined: it is in use. */
  cancel: (() => void) | undefined;
}

/** What is read of each shard that this process leads, is about to, or has led a moment ago. */
export class Readings {
  readonly #open: (shard: number) => Reading;
  readonly #onEnd: (caches: Caches) => void;
  readonly #clock: Clock;
  readonly #kept = new Map<number, Kept>();

  /** @param onEnd hears of caches that have ended: what they have counted counts no more */
  constructor(open: (shard: number) => Reading, onEnd: (caches: Caches) => void, clock: Clock) {
    this.#open = open;
    this.#onEnd = onEnd;
    this.#clock = clock;
  }

  /** All that is read at this moment. */
  get caches(): readonly Caches[] {
    return [...this.#kept.values()].map(({ caches }) => caches);
  }

  /** Goes on to read this shard, or begins to. */
  take(shard: number): Caches {
    const kept = this.#kept.get(shard);
    if (kept === undefined) return this.#begin(shard);
    kept.cancel?.();
    kept.cancel = undefined;
    for (const cache of Object.values(kept.caches)) cache.renew();
    return kept.caches;
  }

  /** Nobody needs it any more: it ends when nobody has taken it for a while, and at once where it has yet to be read. */
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
