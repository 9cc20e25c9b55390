import { unlessAborted } from "#base/abort.ts";
import { type Clock, systemClock } from "#base/clock.ts";
import { asOperatorError, OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { type Log, silentLog } from "#base/log.ts";
import type { Reader, Selection } from "./client.ts";
import { type KubeObject, type Ref, type Resource, resourceName, versionOf } from "./kinds.ts";
import { faultOf, keptInPlace, type SizeLimit, sizeOf, whole, whyTooLarge } from "./object-size.ts";
import { Reflector, type RestartReason } from "./reflector.ts";
import { SharedStrings } from "./shared-strings.ts";
import { type Change, type IndexBy, Store } from "./store.ts";

export type { RestartReason } from "./reflector.ts";
export type { Change, IndexBy } from "./store.ts";

export interface CacheOptions<T extends KubeObject> extends Selection {
  readonly client: Reader;
  readonly resource: Resource<T>;
  /** Namespaces to watch, each by a stream of its own, so that rights to these suffice. Default: `namespace`. */
  readonly namespaces?: readonly string[] | undefined;
  /**
   * Reduces an object to the fields that are used; undefined leaves the object out of the cache. `managedFields` are
   * removed before the call. Must not change the identity fields of its argument.
   */
  readonly keep?: (object: T) => T | undefined;
  /** Size limits of this kind, in addition to OBJECT_LIMIT. */
  readonly limits?: readonly SizeLimit[];
  /** Part of `spec` that is kept of an object that is too large: what indexes need. Default: none. Must not throw. */
  readonly place?: (object: T) => object;
  /** Labels that are kept of an object that is too large. Default: none. */
  readonly placeLabels?: readonly string[];
  /** Pool of shared strings; several caches may use one pool. Default: a pool for this cache alone. */
  readonly strings?: SharedStrings;
  readonly indexes?: Readonly<Record<string, IndexBy<T>>>;
  readonly clock?: Clock;
  readonly log?: Log;
  /** 0 to 1, for jitter. */
  readonly random?: () => number;
  /** Freezes every object deeply, which costs a walk over it. Default: true unless NODE_ENV is `production`. */
  readonly freeze?: boolean;
}

/** For metrics. */
export interface CacheStats {
  readonly objects: number;
  /** How often the whole state was read. */
  readonly syncs: number;
  /** How often a stream was opened again, by reason. */
  readonly restarts: Readonly<Partial<Record<RestartReason, number>>>;
  /** Wall-clock time of the last event, bookmarks included; of several streams the least. 0 before the first. */
  readonly lastEventAtMs: number;
  /** Calls in which a listener threw. */
  readonly listenerFailures: number;
}

type Listener<T> = (change: Change<T>) => void;

/** Copy of one namespace, or of all of them. */
interface Stream<T extends KubeObject> {
  readonly reflector: Reflector<T>;
  seenVersion: bigint;
  synced: boolean;
  lastEventAtMs: number;
}

/**
 * Reads of an object that is too large: `whole` throws ObjectTooLarge, `known` returns the stub that is kept of it.
 * Only name, identity and status of a stub are valid.
 */
export type Reading = "whole" | "known";

/**
 * Local copy of one selection of the server's objects, kept up to date by a watch. Objects that it returns are shared
 * and must not be changed. It may be stale: compare `seenVersion` with the resourceVersion of your own last write.
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
  #syncs = 0;
  #listenerFailures = 0;
  readonly #restarts: Partial<Record<RestartReason, number>> = {};
  readonly #streams: ReadonlyMap<string | undefined, Stream<T>>;

  constructor(options: CacheOptions<T>) {
    this.#options = options;
    this.#store = new Store(options.indexes);
    this.#strings = options.strings ?? new SharedStrings();
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    const scopes = options.namespaces ?? [options.namespace];
    this.#streams = new Map(scopes.map((scope) => [scope, this.#newStream(scope)]));
    this.#firstSync.promise.catch(() => undefined); // Without a caller of `whenSynced` the rejection would be unhandled.
  }

  /** Kind that this cache watches. */
  get resource(): Resource<T> {
    return this.#options.resource;
  }

  /** Starts the watch; may be called once. It ends when the signal aborts, or by `stop`. */
  start(signal: AbortSignal): void {
    invariant(this.#running === undefined, `the cache of ${this.#options.resource.plural} is started once`);
    const stopped = this.#stopped.signal;
    const cancel = (): void => this.#stopped.abort(signal.reason);
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    this.#running = this.#onEach((reflector) => reflector.run(stopped)).finally(() => {
      signal.removeEventListener("abort", cancel);
      this.#firstSync.reject(
        new OperatorError("Cancelled", `the cache of ${this.#options.resource.plural} was stopped`),
      );
    });
  }

  /** Ends the watch and waits until the stream is closed; may be called again, and before `start`. */
  async stop(): Promise<void> {
    this.#stopped.abort(new OperatorError("Cancelled", "stopped"));
    await this.#running;
    this.#giveUpSync();
  }

  /** Rejects callers that wait for the first state; has no effect once the state was read. */
  #giveUpSync(): void {
    this.#firstSync.reject(new OperatorError("Cancelled", `the cache of ${this.#options.resource.plural} was stopped`));
  }

  /**
   * Reports that an expected change, such as an own write, does not show. Reopens the stream if it has been silent.
   * @param namespace of the change; undefined: any
   */
  missed(namespace?: string): void {
    const stream = this.#streams.get(namespace);
    for (const { reflector } of stream === undefined ? this.#streams.values() : [stream]) reflector.missed();
  }

  /**
   * Reopens the stream, for a reader that has not used this cache for a while and is about to. `whenSynced` then waits
   * until the new stream is up.
   */
  renew(): void {
    this.#renewed = this.#onEach((reflector) => reflector.renewed());
  }

  /**
   * @param reading `known` returns undefined for a stub without its status (too large), so that callers do not
   *   overwrite a status that they cannot see
   * @throws OperatorError ObjectTooLarge
   */
  get(ref: Ref, reading: Reading = "whole"): T | undefined {
    const object = this.#store.get(ref);
    if (object === undefined || faultOf(object) === undefined) return object;
    if (reading === "whole") return whole(object);
    return STATUS_LOST.has(object) ? undefined : object;
  }

  /** Number of objects, stubs included. */
  get size(): number {
    return this.#store.size;
  }

  /** All objects. @param reading `whole` leaves out objects that are too large, for metrics; `known` includes them */
  list(reading: Reading = "whole"): readonly T[] {
    const all = this.#store.list();
    return reading === "known" ? all : all.filter((object) => faultOf(object) === undefined);
  }

  /**
   * Objects under an index value, in the order of namespace/name.
   * @throws OperatorError Bug when there is no such index, ObjectTooLarge when one of the objects is too large
   */
  byIndex(index: string, value: string, reading: Reading = "whole"): readonly T[] {
    const found = this.#store.byIndex(index, value);
    return reading === "known" ? found : found.map(whole);
  }

  /** Whether the whole state has been read at least once. */
  get synced(): boolean {
    return [...this.#streams.values()].every(({ synced }) => synced);
  }

  /**
   * Waits until the whole state has been read and the watch is up.
   * @throws OperatorError Cancelled when the signal aborts or the cache is stopped first
   */
  async whenSynced(signal: AbortSignal): Promise<void> {
    const what = `waiting for the cache of ${this.#options.resource.plural}`;
    const stopped = () => new OperatorError("Cancelled", what, { cause: signal.reason });
    const following = this.#onEach((reflector) => reflector.following());
    const synced = Promise.all([this.#firstSync.promise, this.#renewed, following]);
    await unlessAborted(synced, signal, stopped);
  }

  /**
   * Highest resourceVersion seen, bookmarks included; 0 before the first sync. Comparable within the resource since
   * Kubernetes 1.35. Decreases only when the server's own versions did (its etcd was restored from a backup).
   * @param namespace of the changes that have been seen; undefined: all that are watched
   */
  seenVersion(namespace?: string): bigint {
    const stream = this.#streams.get(namespace);
    const seen = (stream === undefined ? [...this.#streams.values()] : [stream]).map((each) => each.seenVersion);
    return seen.reduce((least, version) => (version < least ? version : least));
  }

  /**
   * Calls `listener` for every change from now on, after the cache shows it. The call runs between two events of the
   * stream, so a listener should only record keys. An exception is logged; other listeners are still called.
   * @returns function that removes the listener
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
      lastEventAtMs: Math.min(...[...this.#streams.values()].map((stream) => stream.lastEventAtMs)),
      listenerFailures: this.#listenerFailures,
    };
  }

  async #onEach(act: (reflector: Reflector<T>) => Promise<void>): Promise<void> {
    await Promise.all([...this.#streams.values()].map(({ reflector }) => act(reflector)));
  }

  /** @param scope namespace of the stream; undefined: all namespaces */
  #newStream(scope: string | undefined): Stream<T> {
    const { client, resource, random } = this.#options;
    const reflector = new Reflector<T>({
      reader: client,
      resource,
      selection: selectionOf(this.#options, scope),
      keep: (object) => this.#keep(object),
      clock: this.#clock,
      log: this.#log,
      random: random ?? Math.random,
      target: {
        replace: (objects, resourceVersion) => this.#replace(stream, objects, resourceVersion, scope),
        put: (object) => this.#deliver(stream, this.#store.put(object), object.metadata.resourceVersion),
        remove: (object) => this.#deliver(stream, this.#store.remove(object), object.metadata.resourceVersion),
        drop: ({ metadata }) => this.#deliver(stream, this.#store.drop(metadata), metadata.resourceVersion),
        advance: (resourceVersion) => this.#advance(stream, resourceVersion),
        restarted: (reason) => {
          this.#restarts[reason] = (this.#restarts[reason] ?? 0) + 1;
        },
      },
    });
    const stream: Stream<T> = { reflector, seenVersion: 0n, synced: false, lastEventAtMs: 0 };
    return stream;
  }

  #keep(object: T): T | undefined {
    if (faultOf(object) !== undefined) return object;
    const bare = withoutManagedFields(object);
    const used = this.#options.keep === undefined ? bare : this.#options.keep(bare);
    if (used === undefined) return undefined;
    const fault = whyTooLarge(used, this.#options.limits);
    const kept = fault === undefined ? used : this.#inPlaceOf(used, fault);
    this.#strings.within(kept);
    const freeze = this.#options.freeze ?? process.env.NODE_ENV !== "production";
    return freeze ? deepFreeze(kept) : kept;
  }

  /** Stub that is kept of an object that is too large. */
  #inPlaceOf(object: T, fault: string): T {
    const { place, placeLabels = [], resource } = this.#options;
    const rest = keptInPlace(placed(object, place?.(object) ?? {}, placeLabels), fault);
    this.#log.warn({ resource: resourceName(resource), error: fault }, "an object is too large");
    return rest;
  }

  #replace(stream: Stream<T>, objects: readonly T[], resourceVersion: string, scope: string | undefined): void {
    stream.seenVersion = 0n; // The newest list is right even when the server's versions went back (etcd restored).
    const changes = this.#store.replace(objects, scope);
    this.#syncs += 1;
    stream.synced = true;
    this.#deliver(stream, changes, resourceVersion);
    if (this.synced) this.#firstSync.resolve();
  }

  #advance(stream: Stream<T>, resourceVersion: string): void {
    const version = versionOf(resourceVersion) ?? 0n;
    if (version > stream.seenVersion) stream.seenVersion = version;
    stream.lastEventAtMs = this.#clock.wallMs();
  }

  #deliver(stream: Stream<T>, changes: readonly Change<T>[], resourceVersion: string): void {
    this.#advance(stream, resourceVersion); // before the listeners: they may compare seenVersion with the object
    for (const change of changes) for (const listener of this.#listeners) this.#call(listener, change);
  }

  #call(listener: Listener<T>, change: Change<T>): void {
    try {
      listener(change);
    } catch (thrown) {
      this.#listenerFailures += 1;
      const { code, message } = asOperatorError(thrown);
      const { resource } = this.#options;
      this.#log.error(
        { resource: resourceName(resource), code, error: message },
        "a listener of a cache threw an error",
      );
    }
  }
}

function selectionOf({ labelSelector, fieldSelector }: Selection, namespace: string | undefined): Selection {
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

/** Largest status that is kept in a stub, in characters. Statuses that the operator writes have a few thousand. */
const MAX_STATUS = 65_536;
/** Stubs without a status, because it was larger than MAX_STATUS. */
const STATUS_LOST = new WeakSet<KubeObject>();

function placed<T extends KubeObject>(object: T, spec: object, placeLabels: readonly string[]): T {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata;
  const labels = Object.entries(metadata.labels ?? {}).filter(([label]) => placeLabels.includes(label));
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const status: unknown = object["status" as keyof T];
  const isStatusKept = sizeOf(status).characters <= MAX_STATUS;
  const rest: Record<string, unknown> = {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      resourceVersion,
      ...(generation === undefined ? {} : { generation }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      labels: Object.fromEntries(labels),
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec,
    ...(status === undefined || !isStatusKept ? {} : { status }),
  };
  if (!isStatusKept) STATUS_LOST.add(rest as unknown as T);
  return rest as unknown as T;
}

/** Removes `managedFields`: often larger than the rest of the object, and nothing here reads them. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T["metadata"] & { managedFields?: unknown };
  return { ...object, metadata };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
