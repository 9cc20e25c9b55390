import type { Clock } from "#base/clock.ts";
import type { KnownObject } from "#base/error.ts";
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
//   After `LOST_AFTER_MS` the note is dropped and counted, and the cache hears of it: a watch that lags so far is a fault, and the
//   preconditions on every write still protect against acting on what is no longer true.
// And when the API server refuses a change, since the object is another one by now?
//   Then the cache is behind, and a pass that looks at it again decides the same and is refused again. So it waits until the cache
//   shows another state of this object, for as long at the most, and once for each state: who refuses for a reason of its own,
//   such as a webhook that answers 409, does not hold up the key each time. After that time the cache hears of it, too.

/** Ten seconds is far more than a watch takes (milliseconds) and less than a person's patience. */
export const LOST_AFTER_MS = 10_000;

/** What expectations need to know of a cache. */
interface SeenBy {
  get(ref: Ref): KubeObject | undefined;
  readonly seenVersion: bigint;
  /** Something that was written before does not show. */
  missed?(): void;
}

interface Note {
  readonly since: number;
  readonly what: string;
  readonly cache: SeenBy;
  readonly isMet: () => boolean;
}

/** A state of an object that the API server has no longer. */
interface Outdated {
  readonly since: number;
  readonly known: KnownObject;
  /** When the cache hears next that it still shows it. */
  readonly nextTellMs: number;
}

/** Whose notes they are. Objects of two kinds may have one name, and the pass of one has nothing to do with the writes of the other. */
export interface Owner extends Key {
  /** Its name. */
  readonly controller: string;
}

/** Notes of our own writes, and of what they were refused for. Written by the pass of the same controller and key only. */
export class Expectations {
  readonly #clock: Clock;
  readonly #caches: (resource: Pick<Resource<KubeObject>, "plural">) => SeenBy | undefined;
  readonly #outdated = new Map<string, readonly Outdated[]>();
  readonly #notes = new Map<string, Note[]>();
  readonly #onLost: (what: string) => void;

  constructor(
    clock: Clock,
    caches: (resource: Pick<Resource<KubeObject>, "plural">) => SeenBy | undefined,
    onLost: (what: string) => void,
  ) {
    this.#clock = clock;
    this.#caches = caches;
    this.#onLost = onLost;
  }

  /** Notes what the next pass of `owner` must be able to see. */
  expect(owner: Owner, written: Written): void {
    const note = this.#noteFor(written);
    if (note === undefined) return;
    const text = ownerText(owner);
    this.#notes.set(text, [...(this.#notes.get(text) ?? []), note]);
  }

  /** Notes that the API server has another state of this than `owner` has decided on; nothing is waited for that no cache shows. */
  refused(owner: Owner, known: KnownObject): void {
    const text = ownerText(owner);
    const before = this.#outdated.get(text) ?? [];
    if (!this.#isShown(known) || before.some((each) => isSameState(each.known, known))) return;
    const nowMs = this.#clock.monotonicMs();
    this.#outdated.set(text, [...before, { since: nowMs, nextTellMs: nowMs + LOST_AFTER_MS, known }]);
  }

  /** What the cache has not shown yet, in words; `undefined` when a pass may decide. */
  unmet(owner: Owner): string | undefined {
    return this.#unseen(owner) ?? this.#stillShown(owner);
  }

  #unseen(owner: Owner): string | undefined {
    const text = ownerText(owner);
    const open = (this.#notes.get(text) ?? []).filter((note) => !note.isMet());
    const nowMs = this.#clock.monotonicMs();
    const lost = open.filter((note) => nowMs - note.since >= LOST_AFTER_MS);
    for (const { cache, what } of lost) {
      cache.missed?.();
      this.#onLost(what);
    }
    const waiting = open.filter((note) => !lost.includes(note));
    if (waiting.length === 0) this.#notes.delete(text);
    else this.#notes.set(text, waiting);
    return waiting[0]?.what;
  }

  #stillShown(owner: Owner): string | undefined {
    const text = ownerText(owner);
    const shown = (this.#outdated.get(text) ?? []).filter(({ known }) => this.#isShown(known));
    const nowMs = this.#clock.monotonicMs();
    // Again and again: a cache that has just begun does not listen yet, and one that hears anything at all has nothing to do. But ever more rarely, each time
    // when it has shown it for twice as long: one that is right is refused for a reason of somebody else's, and would read all anew each minute for that.
    const told = shown.map((each) => {
      if (nowMs < each.nextTellMs) return each;
      this.#caches(each.known)?.missed?.();
      return { ...each, nextTellMs: nowMs + (nowMs - each.since) };
    });
    if (told.length === 0) this.#outdated.delete(text);
    else this.#outdated.set(text, told);
    const waiting = shown.find(({ since }) => nowMs - since < LOST_AFTER_MS);
    return (
      waiting && `what has become of ${waiting.known.plural} ${waiting.known.namespace ?? ""}/${waiting.known.name}`
    );
  }

  /** Whether a cache shows this very state. Where any version would have done, the object was another one, or gone. */
  #isShown({ plural, namespace, name, uid, resourceVersion }: KnownObject): boolean {
    const shown = this.#caches({ plural })?.get(namespace === undefined ? { name } : { namespace, name })?.metadata;
    if (shown === undefined || shown.uid !== uid) return false;
    return resourceVersion === undefined || shown.resourceVersion === resourceVersion;
  }

  #noteFor(written: Written): Note | undefined {
    if (written.kind === "external" || written.kind === "unwatched") return undefined;
    const cache = this.#caches(written.resource);
    if (cache === undefined) return undefined;
    const since = this.#clock.monotonicMs();
    if (written.kind === "stored") {
      const { namespace, name, resourceVersion } = written.object.metadata;
      const version = BigInt(resourceVersion);
      const what = `${written.resource.kind} ${namespace ?? ""}/${name} at version ${resourceVersion}`;
      return { since, what, cache, isMet: () => cache.seenVersion >= version };
    }
    const { ref, uid } = written;
    const what = `the deletion of ${written.resource.kind} ${ref.namespace ?? ""}/${ref.name}`;
    return {
      since,
      what,
      cache,
      isMet: () => {
        const seen = cache.get(ref);
        return seen === undefined || seen.metadata.uid !== uid || seen.metadata.deletionTimestamp !== undefined;
      },
    };
  }
}

function ownerText(owner: Owner): string {
  return `${owner.controller} ${keyText(owner)}`;
}

function isSameState(a: KnownObject, b: KnownObject): boolean {
  const textOf = ({ plural, namespace, name, uid, resourceVersion }: KnownObject) =>
    [plural, namespace, name, uid, resourceVersion].join(" ");
  return textOf(a) === textOf(b);
}
