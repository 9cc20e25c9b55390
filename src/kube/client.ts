import { type Clock, systemClock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { type Call, type Line, make, type Observation, open } from "./call.ts";
import type { KubeConfig } from "./config.ts";
import {
  type AnyResource,
  type Draft,
  type KubeList,
  type KubeObject,
  type Ref,
  type Resource,
  resourceName,
} from "./kinds.ts";
import type {
  ApplyOptions,
  CallOptions,
  CreateOptions,
  DeleteOptions,
  JsonPatch,
  ListOptions,
  ListQuery,
  PageQuery,
  PatchOptions,
  RawOptions,
  ReplaceOptions,
  WatchOptions,
  WatchQuery,
} from "./options.ts";
import { DEFAULT_REQUESTS_PER_SECOND, limitsFor, type RateLimits, TokenBucket } from "./rate.ts";
import { Requests } from "./requests.ts";
import { isWhole, lines, parseEvent, textWithin, type WatchEvent, withKind } from "./stream.ts";
import { type HttpAnswer, httpTransport, type Transport, TransportError } from "./transport.ts";
import { Warnings } from "./warnings.ts";

export type { Observation } from "./call.ts";
export type * from "./options.ts";
export type { Selection } from "./path.ts";
export type { RateLimits } from "./rate.ts";
export { FIELD_MANAGER } from "./requests.ts";
export type { WatchEvent } from "./stream.ts";

/** Client methods that a cache needs. */
export type Reader = Pick<KubeClient, "list" | "watch">;

interface ClientOptions {
  readonly config: KubeConfig;
  readonly userAgent: string;
  /** Owner of the fields that this client writes. Default: FIELD_MANAGER. */
  readonly fieldManager?: string;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly limits?: RateLimits;
  /** Called after each HTTP request. */
  readonly observer?: (observation: Observation) => void;
  /** Default: HTTP by Node's own client. Tests pass a scripted transport. */
  readonly transport?: Transport;
  /** Called right before a write is sent, except for leases: false refuses it. Default: true. @see Election.mayAct */
  readonly mayChange?: () => boolean;
}

/** Objects per page, as client-go: a page of the largest objects is a few megabytes. */
const PAGE = 500;
/** Bound on the objects of a list, far above the largest fleet: a faulty server may return `continue` for ever. */
const MAX_ITEMS = 200_000;

/**
 * Client of the Kubernetes API. All methods throw OperatorError: by the table of `fromRefusal` for an error answer,
 * KubeUnavailable without an answer in time, Cancelled when the caller's signal aborted. After KubeUnavailable a write
 * may have taken effect.
 */
export class KubeClient {
  readonly #line: Line;
  readonly #requests: Requests;
  readonly #warnings: Warnings;

  constructor(options: ClientOptions) {
    const clock = options.clock ?? systemClock;
    this.#line = {
      clock,
      transport: options.transport ?? httpTransport(options.config),
      bucket: new TokenBucket(clock, options.limits ?? limitsFor(DEFAULT_REQUESTS_PER_SECOND)),
      random: Math.random,
      observe: options.observer ?? (() => undefined),
      mayChange: options.mayChange ?? (() => true),
    };
    this.#requests = new Requests(options.userAgent, options.fieldManager);
    this.#warnings = new Warnings(options.log ?? silentLog);
  }

  /** @throws OperatorError KubeNotFound */
  async get<T extends KubeObject>(resource: Resource<T>, ref: Ref, options: CallOptions): Promise<T> {
    return await this.#object(resource, this.#requests.get(resource, ref, options));
  }

  /** `get` that reports a failed read as unknown: absent only on NotFound. Throws only Cancelled and Bug. */
  async find<T extends KubeObject>(resource: Resource<T>, ref: Ref, options: CallOptions): Promise<Observed<T>> {
    try {
      return present(await this.get(resource, ref, options));
    } catch (thrown) {
      if (hasCode(thrown, "KubeNotFound")) return absent;
      if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled", "Bug")) throw thrown;
      return unknown(thrown.message);
    }
  }

  /**
   * All objects of a selection, read page by page; consistent as of the returned resourceVersion. The deadline is for
   * one page.
   * @throws OperatorError KubeExpired when the pages took longer than the server keeps the state (5 min)
   */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    query: ListQuery,
    options: ListOptions<T>,
  ): Promise<{ items: T[]; resourceVersion: string }> {
    const { keep = (item: T) => item, ...call } = options;
    const items: T[] = [];
    for await (const page of this.pages<T>(resource, query, call)) {
      for (const item of page.items ?? []) {
        const kept = keep(withKind(item, resource));
        if (kept !== undefined) items.push(kept);
      }
      if (page.metadata.continue === undefined) return { items, resourceVersion: page.metadata.resourceVersion };
      if (items.length >= MAX_ITEMS) break;
    }
    throw new OperatorError("KubeUnavailable", `list ${resourceName(resource)}: more than ${MAX_ITEMS} objects`);
  }

  /** `list` page by page, to hold one page in memory. Items are not reduced, and their number is not bounded. */
  async *pages<T extends KubeObject>(
    resource: Resource<T>,
    query: ListQuery,
    options: CallOptions,
  ): AsyncGenerator<KubeList<T>, void, undefined> {
    let next: string | undefined;
    const most = query.limit ?? PAGE;
    let limit = most;
    do {
      const page = await this.#pageOf<T>(resource, { ...query, limit }, next, options);
      limit = Math.min(most, 2 * page.limit); // The large objects may all be on earlier pages.
      const { metadata, items } = page.list;
      next = metadata.continue === "" ? undefined : metadata.continue;
      const { resourceVersion } = metadata;
      yield { metadata: next === undefined ? { resourceVersion } : { resourceVersion, continue: next }, items };
    } while (next !== undefined);
  }

  /** @throws OperatorError KubeAlreadyExists; after KubeUnavailable the object may have been created */
  async create<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options: CreateOptions): Promise<T> {
    return await this.#object(resource, this.#requests.create(resource, object, options), options.dryRun !== true);
  }

  /**
   * Server-side apply: takes ownership of the fields in `object` and removes owned fields that it lacks.
   * A `metadata.uid` or `metadata.resourceVersion` is a precondition; without either, a missing object is created.
   * https://kubernetes.io/docs/reference/using-api/server-side-apply/
   */
  async apply<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options: ApplyOptions): Promise<T> {
    return await this.#object(resource, this.#requests.apply(resource, object, options));
  }

  /** Replaces an object that was read before. @throws OperatorError KubeConflict when it has changed since */
  async replace<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options: ReplaceOptions): Promise<T> {
    return await this.#object(resource, this.#requests.replace(resource, object, options));
  }

  /** A merge patch (RFC 7386) or JSON patch (RFC 6902). @throws OperatorError KubeConflict when a precondition fails */
  async patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: Ref,
    patch: object | readonly JsonPatch[],
    options: PatchOptions,
  ): Promise<T> {
    return await this.#object(resource, this.#requests.patch(resource, ref, patch, options));
  }

  /** @throws OperatorError KubeConflict when the object has another uid, KubeNotFound when it does not exist */
  async delete(resource: AnyResource, ref: Ref, options: DeleteOptions): Promise<void> {
    await make(this.#line, this.#requests.delete(resource, ref, options), (answer) => answer.text());
  }

  /** Requests any path, such as `/version` or a review. @returns the body as text */
  async raw(method: "GET" | "POST", path: string, options: RawOptions): Promise<string> {
    const call = this.#requests.raw(method, path, options);
    const { mostBytes } = options;
    return await make(this.#line, call, (answer) =>
      mostBytes === undefined ? answer.text() : textWithin(answer.chunks(), mostBytes, call.text),
    );
  }

  /**
   * Changes of a selection, until the server ends the stream (returns) or the stream breaks (throws). The deadline
   * covers only the head of the answer; the caller ends a silent stream by its signal.
   */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    query: WatchQuery,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const call = this.#requests.watch(resource, query, options);
    const { text } = call;
    const { answer, release } = await open(this.#line, call);
    try {
      options.onOpen?.();
      for await (const line of lines(answer.chunks(), text)) yield parseEvent(line, resource, text);
    } catch (thrown) {
      const { signal } = options;
      if (signal.aborted) throw new OperatorError("Cancelled", `${text}: cancelled`, { cause: signal.reason });
      if (!(thrown instanceof TransportError)) throw thrown;
      throw new OperatorError("KubeUnavailable", `${text}: ${thrown.message}`, { cause: thrown });
    } finally {
      release();
    }
  }

  /** Ends all connections. Calls under way fail. */
  async close(): Promise<void> {
    await this.#line.transport.close();
  }

  /** One page, halved until the answer is within the size limit. @returns the limit used too */
  async #pageOf<T extends KubeObject>(
    resource: Resource<T>,
    query: PageQuery,
    next: string | undefined,
    options: CallOptions,
  ): Promise<{ readonly list: KubeList<T>; readonly limit: number }> {
    for (let { limit } = query; ; limit = Math.ceil(limit / 2)) {
      try {
        const list = await this.#page<T>(this.#requests.list(resource, { ...query, limit }, next, options));
        return { list, limit };
      } catch (thrown) {
        if (limit === 1 || !isTooLong(thrown)) throw thrown;
      }
    }
  }

  async #page<T extends KubeObject>(call: Call): Promise<KubeList<T>> {
    return await make(this.#line, call, async (answer) => {
      const list = await this.#json(call, answer);
      if (isList<T>(list)) return list;
      throw new OperatorError("KubeUnavailable", `${call.text}: the answer is not a list`);
    });
  }

  async #object<T extends KubeObject>(resource: Resource<T>, call: Call, isStored = true): Promise<T> {
    return await make(this.#line, call, async (answer) => {
      const object = await this.#json(call, answer);
      if (isWhole(object, isStored)) return withKind<T>(object, resource);
      throw new OperatorError("KubeUnavailable", `${call.text}: the answer is not an object`);
    });
  }

  async #json(call: Call, answer: HttpAnswer): Promise<unknown> {
    this.#warnings.record(call.text, answer.header("warning"));
    const body = await answer.text();
    try {
      return JSON.parse(body);
    } catch (thrown) {
      throw new OperatorError("KubeUnavailable", `${call.text}: the answer is not JSON: ${body.slice(0, 100)}`, {
        cause: thrown,
      });
    }
  }
}

function isTooLong(thrown: unknown): boolean {
  return thrown instanceof OperatorError && thrown.cause instanceof TransportError && thrown.cause.isTooLong;
}

function isList<T extends KubeObject>(value: unknown): value is KubeList<T> {
  const list = value as Partial<KubeList<T>> | null;
  return (
    typeof list === "object" &&
    list !== null &&
    typeof list.metadata?.resourceVersion === "string" &&
    // Go writes an empty list of a custom kind as [] and of some built-in kinds as null.
    (Array.isArray(list.items) || list.items === null)
  );
}
