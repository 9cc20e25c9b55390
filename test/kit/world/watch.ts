import { OperatorError } from "#base/error.ts";
import type { Reader, WatchEvent, WatchOptions, WatchQuery } from "#kube/client.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";
import type { ApiServer, LogLine } from "./api.ts";

interface Query {
  /** Accepted but ignored: the simulation lists all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
}

/**
 * One open watch. Changes after its position have not been delivered yet; the simulation decides when, and how many.
 */
class Stream {
  readonly resource: Resource<KubeObject>;
  /** The connection is dead, and the client has not noticed yet. */
  isMute = false;
  readonly #api: ApiServer;
  readonly #selects: (object: KubeObject) => boolean;
  /** Index in the log of the next line to deliver. */
  #position: number;
  #due: number;
  #wake: PromiseWithResolvers<void> | undefined;
  #broken: OperatorError | undefined;
  #bookmark = false;

  constructor(api: ApiServer, resource: Resource<KubeObject>, query: Query, position: number) {
    this.#api = api;
    this.resource = resource;
    this.#selects = selector(query);
    this.#position = position;
    this.#due = position;
  }

  /** How many changes it lags behind. */
  get behind(): number {
    return this.#api.log(this.resource).length - this.#due;
  }

  deliver(count: number): void {
    this.#due = Math.min(this.#due + count, this.#api.log(this.resource).length);
    this.#wake?.resolve();
  }

  /** Sends a bookmark with the newest resourceVersion, without a change. */
  bookmark(): void {
    this.#bookmark = true;
    this.#wake?.resolve();
  }

  break(error: OperatorError): void {
    this.#broken = error;
    this.#wake?.resolve();
  }

  async *events<T extends KubeObject>(signal: AbortSignal): AsyncGenerator<WatchEvent<T>, void, undefined> {
    signal.addEventListener("abort", () => this.#wake?.resolve(), { once: true });
    for (;;) {
      if (signal.aborted) throw signal.reason;
      if (this.#broken !== undefined) throw this.#broken;
      const line = this.#position < this.#due ? this.#api.log(this.resource)[this.#position] : undefined;
      if (line !== undefined) {
        this.#position += 1;
        const event = this.#eventOf(line);
        if (event !== undefined) yield event as WatchEvent<T>;
      } else if (this.#bookmark) {
        this.#bookmark = false;
        const version = this.#api.log(this.resource)[this.#position - 1]?.version ?? 0;
        yield { type: "BOOKMARK", resourceVersion: String(version), initialEventsEnd: false };
      } else {
        this.#wake = Promise.withResolvers();
        await this.#wake.promise;
      }
    }
  }

  #eventOf({ object, previous, isDeletion }: LogLine): WatchEvent<KubeObject> | undefined {
    const was = previous !== undefined && this.#selects(previous);
    const is = !isDeletion && this.#selects(object);
    if (is) return { type: was ? "MODIFIED" : "ADDED", object };
    if (!was) return undefined;
    // An object that no longer matches the selector is sent in its previous state with the new resourceVersion (watch
    // cache of the API server).
    const { resourceVersion } = object.metadata;
    return { type: "DELETED", object: { ...previous, metadata: { ...previous.metadata, resourceVersion } } };
  }
}

/** Serves the operator's caches: the changes of each kind in order, with any delay. */
export class WatchServer implements Reader {
  readonly #api: ApiServer;
  readonly #streams = new Set<Stream>();

  constructor(api: ApiServer) {
    this.#api = api;
  }

  get streams(): readonly Stream[] {
    return [...this.#streams];
  }

  list = <T extends KubeObject>(
    resource: Resource<T>,
    query: Query,
  ): Promise<{ items: T[]; resourceVersion: string }> => Promise.resolve(this.listed(resource, query));

  /** The current state of the API server. */
  listed<T extends KubeObject>(resource: Resource<T>, query: Query): { items: T[]; resourceVersion: string } {
    const items = this.#api.list(resource).filter(selector(query));
    return { items, resourceVersion: String(this.#api.version) };
  }

  watch = <T extends KubeObject>(
    resource: Resource<T>,
    query: WatchQuery,
    { signal, onOpen }: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> => {
    onOpen?.();
    return this.#watch(resource, query, signal);
  };

  async *#watch<T extends KubeObject>(
    resource: Resource<T>,
    query: WatchQuery,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const log = this.#api.log(resource);
    const seen = Number(query.resourceVersion ?? "0");
    const next = query.initialEvents === true ? log.length : firstAfter(log, seen);
    const stream = new Stream(this.#api, resource as Resource<KubeObject>, query, next);
    this.#streams.add(stream);
    try {
      if (query.initialEvents === true) {
        const resourceVersion = String(this.#api.version);
        for (const object of this.#api.list(resource).filter(selector(query))) yield { type: "ADDED", object };
        yield { type: "BOOKMARK", resourceVersion, initialEventsEnd: true };
      }
      yield* stream.events<T>(signal);
    } finally {
      this.#streams.delete(stream);
    }
  }

  /** The watching process is dead. */
  forget(): void {
    this.#streams.clear();
  }
}

export type { Stream };

function firstAfter(log: readonly LogLine[], version: number): number {
  const found = log.findIndex((line) => line.version > version);
  return found < 0 ? log.length : found;
}

/** Supports `key=value,…`, the only form that the operator uses. */
function selector({ labelSelector }: Query): (object: KubeObject) => boolean {
  if (labelSelector === undefined) return () => true;
  const wanted = labelSelector.split(",").map((part) => part.split("=") as [string, string]);
  if (wanted.some((pair) => pair.length !== 2)) throw new OperatorError("Bug", `selector ${labelSelector}`);
  return ({ metadata }) => wanted.every(([key, value]) => metadata.labels?.[key] === value);
}
