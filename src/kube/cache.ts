import { type Clock, systemClock } from "#base/clock.ts";
import { asOperatorError, OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { type Log, silentLog } from "#base/log.ts";
import type { Reader, Selection } from "./client.ts";
import { type KubeObject, type Ref, type Resource, resourceName, versionOf } from "./kinds.ts";
import { Reflector, type RestartReason } from "./reflector.ts";
import { SharedStrings } from "./shared-strings.ts";
import { type Change, type IndexBy, Store } from "./store.ts";

export type { RestartReason } from "./reflector.ts";
export type { Change, IndexBy } from "./store.ts";

export interface CacheOptions<T extends KubeObject> extends Selection {
  readonly client: Reader;
  readonly resource: Resource<T>;
  /**
   * Strips an object to the fields that are used; undefined: it is none of ours, and the cache is as if it were not there. managedFields are
   * dropped before. Must not change its argument's identity fields.
   */
  readonly keep?: (object: T) => T | undefined;
  /** Whose texts are shared with other objects'; default: those of this cache alone. */
  readonly strings?: SharedStrings;
  readonly indexes?: Readonly<Record<string, IndexBy<T>>>;
  readonly clock?: Clock;
  readonly log?: Log;
  /** 0 to 1, for jitter. */
  readonly random?: () => number;
  /** Makes every object immutable; costs a walk over it. Default: outside production (NODE_ENV). */
  readonly freeze?: boolean;
}

/** For metrics. */
export interface CacheStats {
  readonly objects: number;
  /** How often the whole state was read. */
  readonly syncs: number;
  /** How often a stream was opened again, by reason. */
  readonly restarts: Readonly<Partial<Record<RestartReason, number>>>;
  /** When the server last said something, bookmarks included; wall clock, 0 before that. */
  readonly lastEventAtMs: number;
  /** Listeners that threw. */
  readonly listenerFailures: number;
}

type Listener<T> = (change: Change<T>) => void;

/**
 * A copy of one selection of the server's objects that follows it. Written only by its own reflector; what it hands out is
 * shared and must not be changed. It lives in the past: compare `seenVersion` with the version of your own last write.
 */
export class Cache<T extends KubeObject> {
  readonly #options: CacheOptions<T>;
  readonly #store: Store<T>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #strings: SharedStrings;
  readonly #listeners = new Set<Listener<T>>();
  readonly #stopped = new AbortController();
  readonly #firstSync = Promise.withResolvers<void>();
  #renewed: Promise<void> = Promise.resolve();
  #running: Promise<void> | undefined;
  #seenVersion = 0n;
  #syncs = 0;
  #lastEventAtMs = 0;
  #listenerFailures = 0;
  readonly #restarts: Partial<Record<RestartReason, number>> = {};
  readonly #reflector: Reflector<T>;

  constructor(options: CacheOptions<T>) {
    this.#options = options;
    this.#store = new Store(options.indexes);
    this.#strings = options.strings ?? new SharedStrings();
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#reflector = this.#newReflector();
    this.#firstSync.promise.catch(() => undefined); // Those who wait are told; it is no failure when nobody waits.
  }

  /** What is followed. */
  get resource(): Resource<T> {
    return this.#options.resource;
  }

  /** Starts following; once. Ends with the signal, or `stop`. */
  start(signal: AbortSignal): void {
    invariant(this.#running === undefined, `the cache of ${this.#options.resource.plural} is started once`);
    const stopped = this.#stopped.signal;
    const cancel = (): void => this.#stopped.abort(signal.reason);
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    this.#running = this.#reflector.run(stopped).finally(() => {
      signal.removeEventListener("abort", cancel);
      this.#firstSync.reject(
        new OperatorError("Cancelled", `the cache of ${this.#options.resource.plural} was stopped`),
      );
    });
  }

  /** Ends following and waits until the stream is closed; may be called again, and before `start`. */
  async stop(): Promise<void> {
    this.#stopped.abort(new OperatorError("Cancelled", "stopped"));
    await this.#running;
    this.#giveUpSync();
  }

  /** Tells those who wait for the first state that it will not come; nothing when it has. */
  #giveUpSync(): void {
    this.#firstSync.reject(new OperatorError("Cancelled", `the cache of ${this.#options.resource.plural} was stopped`));
  }

  /** Something that was written before does not show: if nothing at all has come for a while, the stream is opened again. */
  missed(): void {
    this.#reflector.missed();
  }

  /** Somebody is about to go by what it shows, who has not for a while: it follows anew, and `whenSynced` waits until it does. */
  renew(): void {
    this.#renewed = this.#reflector.renewed();
  }

  get(ref: Ref): T | undefined {
    return this.#store.get(ref);
  }

  /** How many objects it knows. */
  get size(): number {
    return this.#store.size;
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  /** In the order of namespace/name. @throws OperatorError Bug when there is no such index */
  byIndex(index: string, value: string): readonly T[] {
    return this.#store.byIndex(index, value);
  }

  /** Whether the whole state has been read at least once. */
  get synced(): boolean {
    return this.#syncs > 0;
  }

  /** Waits until the whole state has been read, and is followed. @throws OperatorError Cancelled when the signal aborts or the cache is stopped before */
  async whenSynced(signal: AbortSignal): Promise<void> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const what = `waiting for the cache of ${this.#options.resource.plural}`;
    const giveUp = (): void => reject(new OperatorError("Cancelled", what, { cause: signal.reason }));
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    try {
      await Promise.race([Promise.all([this.#firstSync.promise, this.#renewed, this.#reflector.following()]), aborted]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /**
   * Highest resourceVersion seen, bookmarks included; 0 before the first sync. Since Kubernetes 1.35 comparable within the
   * resource. It goes back only when the server itself went back (etcd restored from a backup).
   */
  get seenVersion(): bigint {
    return this.#seenVersion;
  }

  /**
   * Calls `listener` for every change from now on, after the cache shows it. A listener should only note keys: it runs between
   * two events of the stream. One that throws is logged and disturbs nobody.
   * @returns ends the calls
   */
  onChange(listener: Listener<T>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get stats(): CacheStats {
    return {
      objects: this.#store.size,
      syncs: this.#syncs,
      restarts: { ...this.#restarts },
      lastEventAtMs: this.#lastEventAtMs,
      listenerFailures: this.#listenerFailures,
    };
  }

  #newReflector(): Reflector<T> {
    const { client, resource, random } = this.#options;
    return new Reflector<T>({
      reader: client,
      resource,
      selection: selectionOf(this.#options),
      keep: (object) => this.#keep(object),
      clock: this.#clock,
      log: this.#log,
      random: random ?? Math.random,
      target: {
        replace: (objects, resourceVersion) => this.#replace(objects, resourceVersion),
        put: (object) => this.#deliver(this.#store.put(object), object.metadata.resourceVersion),
        remove: (object) => this.#deliver(this.#store.remove(object), object.metadata.resourceVersion),
        drop: ({ metadata }) => this.#deliver(this.#store.drop(metadata), metadata.resourceVersion),
        advance: (resourceVersion) => this.#advance(resourceVersion),
        restarted: (reason) => {
          this.#restarts[reason] = (this.#restarts[reason] ?? 0) + 1;
        },
      },
    });
  }

  #keep(object: T): T | undefined {
    const bare = withoutManagedFields(object);
    const kept = this.#options.keep === undefined ? bare : this.#options.keep(bare);
    if (kept === undefined) return undefined;
    this.#strings.within(kept);
    const freeze = this.#options.freeze ?? process.env.NODE_ENV !== "production";
    return freeze ? deepFreeze(kept) : kept;
  }

  #replace(objects: readonly T[], resourceVersion: string): void {
    this.#seenVersion = 0n; // The state that was read last is the truth, even when the server went back.
    const changes = this.#store.replace(objects);
    this.#syncs += 1;
    this.#deliver(changes, resourceVersion);
    this.#firstSync.resolve();
  }

  #advance(resourceVersion: string): void {
    const version = versionOf(resourceVersion) ?? 0n;
    if (version > this.#seenVersion) this.#seenVersion = version;
    this.#lastEventAtMs = this.#clock.wallMs();
  }

  #deliver(changes: readonly Change<T>[], resourceVersion: string): void {
    this.#advance(resourceVersion); // before the listeners, who may compare it with the object
    for (const change of changes) for (const listener of this.#listeners) this.#call(listener, change);
  }

  #call(listener: Listener<T>, change: Change<T>): void {
    try {
      listener(change);
    } catch (thrown) {
      this.#listenerFailures += 1;
      const { code, message } = asOperatorError(thrown);
      const { resource } = this.#options;
      this.#log.error({ resource: resourceName(resource), code, error: message }, "a listener of a cache threw");
    }
  }
}

function selectionOf({ namespace, labelSelector, fieldSelector }: Selection): Selection {
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

/** They are often larger than the rest of the object, and nothing here reads them. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T["metadata"] & { managedFields?: unknown };
  return { ...object, metadata };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
