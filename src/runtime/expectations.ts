import type { Clock } from "#base/clock.ts";
import type { KubeObject, Ref, Resource } from "#kube/kinds.ts";
import { type Key, keyText, type Written } from "#runtime/controller.ts";

// Why expectations?
//   A cache lags behind the API server. A pass that decides before the cache shows the last write of the same key decides
//   on yesterday's world: it would create what it has just created. So each write leaves a note, and the next pass waits
//   until the cache has seen it.
// How is "seen" known?
//   Resource versions are comparable numbers (guaranteed since Kubernetes 1.35, true of etcd-backed servers before): the
//   cache has seen a write when the highest version it has received is at least that of the write.
// What if the cache never shows it?
//   After `LOST_AFTER_MS` the note is dropped and counted: a watch that lags so far is a fault to be heard of, and the
//   preconditions on every write still protect against acting on what is no longer true.

/** Ten seconds is far more than a watch takes (milliseconds) and less than a person's patience. */
export const LOST_AFTER_MS = 10_000;

/** What expectations need to know of a cache. */
interface SeenBy {
  get(ref: Ref): KubeObject | undefined;
  readonly seenVersion: bigint;
}

interface Note {
  readonly since: number;
  readonly what: string;
  readonly isMet: () => boolean;
}

/** Notes of our own writes. Written by the pass of the same key only. */
export class Expectations {
  readonly #clock: Clock;
  readonly #caches: (resource: Resource<KubeObject>) => SeenBy | undefined;
  readonly #notes = new Map<string, Note[]>();
  readonly #onLost: (what: string) => void;

  constructor(
    clock: Clock,
    caches: (resource: Resource<KubeObject>) => SeenBy | undefined,
    onLost: (what: string) => void,
  ) {
    this.#clock = clock;
    this.#caches = caches;
    this.#onLost = onLost;
  }

  /** Notes what the next pass of `key` must be able to see. */
  expect(key: Key, written: Written): void {
    const note = this.#noteFor(written);
    if (note === undefined) return;
    const text = keyText(key);
    this.#notes.set(text, [...(this.#notes.get(text) ?? []), note]);
  }

  /** What the cache has not shown yet, in words; `undefined` when a pass may decide. */
  unmet(key: Key): string | undefined {
    const text = keyText(key);
    const open = (this.#notes.get(text) ?? []).filter((note) => !note.isMet());
    const nowMs = this.#clock.monotonicMs();
    const lost = open.filter((note) => nowMs - note.since >= LOST_AFTER_MS);
    for (const note of lost) this.#onLost(note.what);
    const waiting = open.filter((note) => !lost.includes(note));
    if (waiting.length === 0) this.#notes.delete(text);
    else this.#notes.set(text, waiting);
    return waiting[0]?.what;
  }

  #noteFor(written: Written): Note | undefined {
    if (written.kind === "external") return undefined;
    const cache = this.#caches(written.resource);
    if (cache === undefined) return undefined;
    const since = this.#clock.monotonicMs();
    if (written.kind === "stored") {
      const { namespace, name, resourceVersion } = written.object.metadata;
      const version = BigInt(resourceVersion);
      const what = `${written.resource.kind} ${namespace ?? ""}/${name} at version ${resourceVersion}`;
      return { since, what, isMet: () => cache.seenVersion >= version };
    }
    const { ref, uid } = written;
    const what = `the deletion of ${written.resource.kind} ${ref.namespace ?? ""}/${ref.name}`;
    return {
      since,
      what,
      isMet: () => {
        const seen = cache.get(ref);
        return seen === undefined || seen.metadata.uid !== uid || seen.metadata.deletionTimestamp !== undefined;
      },
    };
  }
}
