import { type ErrorCode, OperatorError } from "#base/error.ts";
import type { Reader, WatchEvent, WatchOptions, WatchQuery } from "#kube/client.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";

export interface Thing extends KubeObject {
  readonly value: number;
}
export const THINGS: Resource<Thing> = {
  group: "test",
  version: "v1",
  kind: "Thing",
  plural: "things",
  namespaced: true,
};

/** The fault of one stream, after this many delivered events. */
export type Fault =
  | { readonly does: "fail"; readonly after: number; readonly code: ErrorCode; readonly retryAfterMs?: number }
  | { readonly does: "end"; readonly after: number }
  /** The stream is silent from then on, without an error. */
  | { readonly does: "hang"; readonly after: number };

type Line = { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: Thing };

const ENDED = new Error("the stream has ended in order");

/**
 * Objects of one kind with versions and a history, served as the API server does. `faults` are those of the streams.
 */
export class ModelServer implements Reader {
  readonly namespace: string;
  readonly faults: Fault[] = [];
  readonly listFailures: ErrorCode[] = [];
  /** Every requested list and watch. */
  readonly asked: string[] = [];
  /**
   * Whether the initial state is available as a stream; `silent`: it is streamed, but the final bookmark never comes.
   */
  watchList: "served" | "refused" | "silent" = "served";
  openStreams = 0;
  mostOpenStreams = 0;
  readonly #objects = new Map<string, Thing>();
  #history: Line[] = [];
  #version: number;
  #forgottenUpTo = 0;
  #wake = Promise.withResolvers<void>();
  #interrupt = interruptible();

  /** @param namespace of all objects @param version of the first state; every write adds 1 */
  constructor(namespace = "default", version = 100) {
    this.namespace = namespace;
    this.#version = version;
  }

  get version(): string {
    return String(this.#version);
  }

  /** Name → uid and version, as `contents` of a cache returns them. */
  contents(): Record<string, string> {
    return contentsOf([...this.#objects.values()]);
  }

  put(name: string, value: number): void {
    const before = this.#objects.get(name);
    this.#version += 1;
    const uid = before?.metadata.uid ?? `uid-${this.#version}`;
    const object = this.#thing(name, uid, this.version, value);
    this.#objects.set(name, object);
    this.#append({ type: before === undefined ? "ADDED" : "MODIFIED", object });
  }

  /** @param value of the deleted object, if different from before */
  remove(name: string, value?: number): void {
    const before = this.#objects.get(name);
    if (before === undefined) return;
    this.#version += 1;
    this.#objects.delete(name);
    this.#append({
      type: "DELETED",
      object: this.#thing(name, before.metadata.uid, this.version, value ?? before.value),
    });
  }

  /** Forgets the history: versions before now are gone (HTTP 410). */
  compact(): void {
    this.#forgottenUpTo = this.#version;
    this.#history = [];
  }

  /** Returns to an earlier version and other contents, as after a restored backup. */
  rewind(by: number): void {
    // As from the API server, streams then send nothing before their position is reached again; `bookmark` would.
    this.#version -= by;
    for (const name of this.#objects.keys()) this.#objects.set(name, this.#thing(name, "restored", this.version, 0));
    this.#history = [];
    this.#forgottenUpTo = 0;
  }

  /** Breaks the open stream. */
  breakStream(code: ErrorCode): void {
    this.#interrupt.reject(new OperatorError(code, "broken"));
    this.#interrupt = interruptible();
  }

  /** Ends the open stream without an error, as a server does after a while. */
  endStream(): void {
    this.#interrupt.reject(ENDED);
    this.#interrupt = interruptible();
  }

  /** Sends a bookmark on all streams. */
  bookmark(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  list = <T extends KubeObject>(): Promise<{ items: T[]; resourceVersion: string }> => {
    this.asked.push("list");
    const code = this.listFailures.shift();
    if (code !== undefined) return Promise.reject(new OperatorError(code, code));
    return Promise.resolve({ items: [...this.#objects.values()] as unknown as T[], resourceVersion: this.version });
  };

  watch = <T extends KubeObject>(
    _resource: Resource<T>,
    query: WatchQuery,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> =>
    this.#watch(query, options) as AsyncGenerator<WatchEvent<KubeObject>> as AsyncGenerator<WatchEvent<T>>;

  async *#watch(
    query: WatchQuery,
    { signal, onOpen }: WatchOptions,
  ): AsyncGenerator<WatchEvent<Thing>, void, undefined> {
    this.asked.push(query.initialEvents === true ? "watch-list" : `watch ${query.resourceVersion}`);
    this.openStreams += 1;
    this.mostOpenStreams = Math.max(this.mostOpenStreams, this.openStreams);
    try {
      if (query.initialEvents === true && this.watchList === "refused") throw new OperatorError("KubeInvalid", "no");
      const fault = this.faults.shift();
      if (fault?.after !== 0) onOpen?.(); // otherwise not even the response header comes
      yield* spoil(this.#events(query, signal), fault, signal, this.#interrupt.promise);
    } catch (thrown) {
      if (thrown !== ENDED) throw thrown;
    } finally {
      this.openStreams -= 1;
    }
  }

  async *#events(query: WatchQuery, signal: AbortSignal): AsyncGenerator<WatchEvent<Thing>, void, undefined> {
    let position = Number(query.resourceVersion ?? 0);
    if (query.initialEvents === true) {
      position = this.#version;
      for (const object of [...this.#objects.values()]) yield { type: "ADDED", object };
      if (this.watchList === "served") yield this.#mark(position, true);
    }
    for (;;) {
      if (position < this.#forgottenUpTo) throw new OperatorError("KubeExpired", "too old");
      const next = this.#history.find(({ object }) => Number(object.metadata.resourceVersion) > position);
      if (next !== undefined) {
        position = Number(next.object.metadata.resourceVersion);
        yield next;
      } else {
        await untilEither(this.#wake.promise, signal);
        if (this.#history.at(-1)?.object.metadata.resourceVersion !== this.version)
          yield this.#mark(this.#version, false);
      }
    }
  }

  #mark(version: number, initialEventsEnd: boolean): WatchEvent<Thing> {
    return { type: "BOOKMARK", resourceVersion: String(version), initialEventsEnd };
  }

  #thing(name: string, uid: string, resourceVersion: string, value: number): Thing {
    const metadata = { namespace: this.namespace, name, uid, resourceVersion };
    return { apiVersion: "test/v1", kind: "Thing", metadata, value };
  }

  #append(line: Line): void {
    this.#history.push(line);
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}

export function contentsOf(things: readonly KubeObject[]): Record<string, string> {
  const entries = things.map(({ metadata }) => [metadata.name, `${metadata.uid}@${metadata.resourceVersion}`] as const);
  return Object.fromEntries(entries.sort());
}

async function* spoil<T>(
  events: AsyncGenerator<T, void, undefined>,
  fault: Fault | undefined,
  signal: AbortSignal,
  interrupt: Promise<never>,
): AsyncGenerator<T, void, undefined> {
  for (let delivered = 0; ; delivered++) {
    if (fault !== undefined && delivered === fault.after) {
      if (fault.does === "end") return;
      if (fault.does === "fail") throw new OperatorError(fault.code, "a fault", fault);
      await untilEither(interrupt, signal);
    }
    const next = await Promise.race([events.next(), interrupt]);
    if (next.done === true) return;
    yield next.value;
  }
}

function interruptible(): PromiseWithResolvers<never> {
  const interrupt = Promise.withResolvers<never>();
  interrupt.promise.catch(() => undefined); // there may be no stream to break
  return interrupt;
}

async function untilEither(event: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  if (signal.aborted) throw signal.reason;
  await Promise.race([event, aborted]);
}
