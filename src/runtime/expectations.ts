import type { Clock } from "#base/clock.ts";
import type { KnownObject } from "#base/error.ts";
import type { KubeObject, Ref, Resource } from "#kube/kinds.ts";
import { type Key, keyText, type Written } from "#runtime/controller.ts";

// Why expectations?
//   A cache lags behind the API server. A pass that decides before the cache shows the last write of the same key would
//   create the same object again. So each write is recorded, and the next pass waits until the cache has seen it.
// When has the cache seen a write?
//   When the highest resource version that it has received is at least that of the write. Resource versions are
//   comparable numbers (guaranteed since Kubernetes 1.35, true of etcd-backed servers before).
// What if the cache never shows it?
//   After `LOST_AFTER_MS` the record is dropped and counted, and the cache is notified. A watch that lags so far is a
//   fault, and the preconditions on every write still prevent wrong changes.
// What if the API server rejects a write with a conflict?
//   The cache is behind, and another pass would decide the same. So the key waits until the cache shows another state
//   of the object, at most `LOST_AFTER_MS`. It waits once for each state: a webhook that answers 409 must not delay the
//   key each time. After that time the cache is notified, too.

/** Ten seconds: far more than a watch takes (milliseconds), and short enough for a waiting user. */
export const LOST_AFTER_MS = 10_000;

/** The part of a cache that expectations need. */
interface SeenBy {
  get(ref: Ref, reading: "known"): KubeObject | undefined;
  /** Version up to which the cache shows all changes of this namespace. */
  seenVersion(namespace: string | undefined): bigint;
  /** Notifies the cache that it does not show an earlier write. */
  missed?(namespace: string | undefined): void;
}

interface Note {
  readonly since: number;
  readonly what: string;
  readonly cache: SeenBy;
  readonly namespace: string | undefined;
  readonly isMet: () => boolean;
}

/** A state of an object that the API server has replaced. */
interface Outdated {
  readonly since: number;
  readonly known: KnownObject;
  /** When to notify the cache next that it still shows this state. */
  readonly nextReportMs: number;
}

/**
 * The controller and key that recorded it. Objects of two kinds may have the same name, and their passes do not depend
 * on each other.
 */
export interface Owner extends Key {
  /** The controller's name. */
  readonly controller: string;
}

/**
 * Own writes and conflicts that the cache does not show yet. Written by the pass of the same controller and key only.
 */
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

  /** Records a write that the next pass of `owner` must be able to see. */
  expect(owner: Owner, written: Written): void {
    const note = this.#noteFor(written);
    if (note === undefined) return;
    const text = ownerText(owner);
    this.#notes.set(text, [...(this.#notes.get(text) ?? []), note]);
  }

  /**
   * Records a conflict: the API server has a newer state than the one that `owner` decided on. Ignored when no cache
   * shows that state.
   */
  refused(owner: Owner, known: KnownObject): void {
    const text = ownerText(owner);
    const before = this.#outdated.get(text) ?? [];
    if (!this.#isShown(known) || before.some((each) => isSameState(each.known, known))) return;
    const nowMs = this.#clock.monotonicMs();
    this.#outdated.set(text, [...before, { since: nowMs, nextReportMs: nowMs + LOST_AFTER_MS, known }]);
  }

  /** The write or conflict that the cache does not show yet, in words; `undefined` when a pass may decide. */
  unmet(owner: Owner): string | undefined {
    return this.#unseen(owner) ?? this.#stillShown(owner);
  }

  #unseen(owner: Owner): string | undefined {
    const text = ownerText(owner);
    const open = (this.#notes.get(text) ?? []).filter((note) => !note.isMet());
    const nowMs = this.#clock.monotonicMs();
    const lost = open.filter((note) => nowMs - note.since >= LOST_AFTER_MS);
    for (const { cache, what, namespace } of lost) {
      cache.missed?.(namespace);
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
    // Notified repeatedly, since a cache that has just started ignores it, as does one that receives events. Each pause
    // is as long as the stale state has been shown. When a webhook caused the conflict the cache is right, and must not
    // list everything again each minute.
    const notified = shown.map((each) => {
      if (nowMs < each.nextReportMs) return each;
      this.#caches(each.known)?.missed?.(each.known.namespace);
      return { ...each, nextReportMs: nowMs + (nowMs - each.since) };
    });
    if (notified.length === 0) this.#outdated.delete(text);
    else this.#outdated.set(text, notified);
    const waiting = shown.find(({ since }) => nowMs - since < LOST_AFTER_MS);
    return (
      waiting && `the newer state of ${waiting.known.plural} ${waiting.known.namespace ?? ""}/${waiting.known.name}`
    );
  }

  /**
   * Whether a cache shows exactly this state. Without a resource version the uid decides: a precondition on the uid
   * alone fails only for a new or deleted object.
   */
  #isShown({ plural, namespace, name, uid, resourceVersion }: KnownObject): boolean {
    const shown = this.#caches({ plural })?.get(
      namespace === undefined ? { name } : { namespace, name },
      "known",
    )?.metadata;
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
      return { since, what, cache, namespace, isMet: () => cache.seenVersion(namespace) >= version };
    }
    const { ref, uid } = written;
    const what = `the deletion of ${written.resource.kind} ${ref.namespace ?? ""}/${ref.name}`;
    return {
      since,
      what,
      cache,
      namespace: ref.namespace,
      isMet: () => {
        const seen = cache.get(ref, "known");
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
