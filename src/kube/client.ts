import { type Clock, systemClock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { type Log, silentLog } from "#base/log.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { type Call, type Line, make, type Observation, open, type Repeat } from "./call.ts";
import type { KubeConfig } from "./config.ts";
import {
  type AnyResource,
  type Draft,
  type KubeList,
  type KubeObject,
  keyOf,
  type Ref,
  type Resource,
  resourceName,
} from "./kinds.ts";
import { collectionPath, objectPath, type Query, requireScope, type Selection, withQuery } from "./path.ts";
import { DEFAULT_LIMITS, type RateLimits, TokenBucket } from "./rate.ts";
import { isWhole, lines, parseEvent, type WatchEvent, withKind } from "./stream.ts";
import { type HttpAnswer, type HttpRequest, httpTransport, type Transport, TransportError } from "./transport.ts";
import { Warnings } from "./warnings.ts";

export type { Observation } from "./call.ts";
export type { Selection } from "./path.ts";
export type { RateLimits } from "./rate.ts";
export type { WatchEvent } from "./stream.ts";

/** Under this name the server remembers which fields are ours. Changing it gives up every field that we own. */
export const FIELD_MANAGER = "etcd-cluster-operator";

export interface CallOptions {
  readonly signal: AbortSignal;
  /** For the whole call, repetitions and waiting for the rate limit included; milliseconds. Default 10 000. */
  readonly deadlineMs?: number;
  /** `high` never waits for the rate limit and has connections of its own: for the lease only. */
  readonly priority?: "normal" | "high";
}

/** What must still hold when the server carries out a change; otherwise KubeConflict. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface DeleteOptions extends CallOptions {
  /** The uid is required: the same name may by now be another object. */
  readonly preconditions: Preconditions & { readonly uid: string };
  /** Default: Background. https://kubernetes.io/docs/concepts/architecture/garbage-collection/ */
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
}

/** https://www.rfc-editor.org/rfc/rfc6902 */
export interface JsonPatch {
  readonly op: "add" | "remove" | "replace" | "test" | "move" | "copy";
  readonly path: string;
  readonly value?: unknown;
  readonly from?: string;
}

export interface PatchOptions extends CallOptions {
  readonly type: "merge" | "json";
  readonly subresource?: string;
  readonly preconditions?: Preconditions;
}

export interface ListQuery extends Selection {
  /** Objects per page, 1 to 5000; default 500. All pages are read either way. */
  readonly limit?: number;
}

export interface WatchQuery extends Selection {
  /** Where to go on. With `initialEvents`, absent: the newest state. */
  readonly resourceVersion?: string;
  /** First the whole state as ADDED events, ended by a bookmark (WatchList). */
  readonly initialEvents?: boolean;
  /** The server ends the stream after this time. */
  readonly timeoutSeconds: number;
}

/** The part of the client that a cache needs. */
export type Reader = Pick<KubeClient, "list" | "watch">;

export interface ClientOptions {
  readonly config: KubeConfig;
  readonly userAgent: string;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly limits?: RateLimits;
  /** Called after each HTTP request. */
  readonly observer?: (observation: Observation) => void;
  /** How requests travel; undici unless a test says otherwise. */
  readonly transport?: Transport;
}

const DEADLINE_MS = 10_000;
/** Until the head of a watch's answer; the API server answers at once, or waits up to 3 s for its own cache. */
const WATCH_DEADLINE_MS = 15_000;
const PAGE = 500;
/** Far above the largest fleet; a server that hands out `continue` for ever is a fault, not a fleet. */
const MAX_ITEMS = 200_000;

/**
 * The Kubernetes API as this operator uses it. All methods throw OperatorError by the table of `fromRefusal`, KubeUnavailable
 * when no answer came in time, Cancelled when the caller's signal aborted. After KubeUnavailable a change may have been made.
 */
export class KubeClient {
  readonly #line: Line;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #warnings: Warnings;

  constructor(options: ClientOptions) {
    const clock = options.clock ?? systemClock;
    this.#line = {
      clock,
      transport: options.transport ?? httpTransport(options.config),
      bucket: new TokenBucket(clock, options.limits ?? DEFAULT_LIMITS),
      random: Math.random,
      observe: options.observer ?? (() => undefined),
    };
    this.#headers = { accept: "application/json", "user-agent": options.userAgent };
    this.#warnings = new Warnings(options.log ?? silentLog);
  }

  /** @throws OperatorError KubeNotFound */
  async get<T extends KubeObject>(resource: Resource<T>, ref: Ref, options: CallOptions): Promise<T> {
    const call = this.#call("get", "GET", resource, ref, options, { repeat: "read" });
    return await this.#object(resource, call);
  }

  /** `get` for decisions: only a plain "not found" is absent. Throws Cancelled and Bug, nothing else. */
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
   * All objects of a selection, read page by page; consistent as of the returned resourceVersion. The deadline is that of
   * each page.
   * @throws OperatorError KubeExpired when the pages took longer than the server keeps the state (5 min)
   */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    query: ListQuery,
    options: CallOptions,
  ): Promise<{ items: T[]; resourceVersion: string }> {
    const items: T[] = [];
    let next: string | undefined;
    do {
      const page = await this.#page(resource, query, next, options);
      for (const item of page.items ?? []) items.push(withKind(item, resource));
      next = page.metadata.continue === "" ? undefined : page.metadata.continue;
      if (next === undefined) return { items, resourceVersion: page.metadata.resourceVersion };
    } while (items.length < MAX_ITEMS);
    throw new OperatorError("KubeUnavailable", `list ${resourceName(resource)}: more than ${MAX_ITEMS} objects`);
  }

  /** @throws OperatorError KubeAlreadyExists; after KubeUnavailable the object may have been made */
  async create<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options: CallOptions): Promise<T> {
    const path = collectionPath(resource, requireScope(resource, object.metadata.namespace));
    const call = this.#call("create", "POST", resource, object.metadata, options, {
      repeat: "once",
      path: withQuery(path, { fieldManager: FIELD_MANAGER }),
      body: object,
    });
    return await this.#object(resource, call);
  }

  /**
   * Server-side apply: the fields in `object` become ours, fields that were ours and are missing go away.
   * A `metadata.uid` or `metadata.resourceVersion` in it is a precondition; without them the object is made when absent.
   * @param options.force take fields that others own; otherwise such a field is a KubeConflict
   * https://kubernetes.io/docs/reference/using-api/server-side-apply/
   */
  async apply<T extends KubeObject>(
    resource: Resource<T>,
    object: Draft<T>,
    options: CallOptions & { readonly force: boolean; readonly subresource?: "status" },
  ): Promise<T> {
    const call = this.#call("apply", "PATCH", resource, object.metadata, options, {
      repeat: "guarded",
      ...(options.subresource === undefined ? {} : { subresource: options.subresource }),
      query: { fieldManager: FIELD_MANAGER, force: String(options.force) },
      contentType: "application/apply-patch+yaml", // JSON is YAML
      body: object,
    });
    return await this.#object(resource, call);
  }

  /** Replaces an object that was read before. @throws OperatorError KubeConflict when it has changed since */
  async replace<T extends KubeObject>(
    resource: Resource<T>,
    object: Draft<T>,
    options: CallOptions & { readonly subresource?: "status" },
  ): Promise<T> {
    invariant(object.metadata.resourceVersion !== undefined, `replace ${keyOf(object)} carries a resourceVersion`);
    const call = this.#call("replace", "PUT", resource, object.metadata, options, {
      repeat: "guarded",
      ...(options.subresource === undefined ? {} : { subresource: options.subresource }),
      query: { fieldManager: FIELD_MANAGER },
      body: object,
    });
    return await this.#object(resource, call);
  }

  /** A merge patch (RFC 7386) or JSON patch (RFC 6902). @throws OperatorError KubeConflict when a precondition fails */
  async patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: Ref,
    patch: object | readonly JsonPatch[],
    options: PatchOptions,
  ): Promise<T> {
    const preconditions = options.preconditions ?? {};
    const call = this.#call("patch", "PATCH", resource, ref, options, {
      repeat: preconditions.resourceVersion === undefined ? "once" : "guarded",
      ...(options.subresource === undefined ? {} : { subresource: options.subresource }),
      query: { fieldManager: FIELD_MANAGER },
      contentType: options.type === "merge" ? "application/merge-patch+json" : "application/json-patch+json",
      body: options.type === "merge" ? mergeWith(patch, preconditions) : jsonWith(patch, preconditions),
    });
    return await this.#object(resource, call);
  }

  /** @throws OperatorError KubeConflict when the object is another one by now, KubeNotFound when it is gone */
  async delete(resource: AnyResource, ref: Ref, options: DeleteOptions): Promise<void> {
    invariant(options.preconditions.uid !== "", `delete ${keyOf(ref)} carries a uid`);
    const call = this.#call("delete", "DELETE", resource, ref, options, {
      repeat: "guarded",
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: options.preconditions,
        propagationPolicy: options.propagation ?? "Background",
        ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
      },
    });
    await make(this.#line, call, (answer) => answer.text());
  }

  /** A path that is no resource, such as `/version` or `/readyz`; the body as text. */
  async raw(method: "GET" | "POST", path: string, options: CallOptions & { readonly body?: unknown }): Promise<string> {
    const call: Call = {
      verb: "raw",
      resource: "",
      text: `${method} ${path}`,
      repeat: method === "GET" ? "read" : "once",
      request: this.#request(method, path, options, options.body, "application/json"),
      signal: options.signal,
      deadlineMs: options.deadlineMs ?? DEADLINE_MS,
    };
    return await make(this.#line, call, (answer) => answer.text());
  }

  /**
   * The changes of a selection, until the server ends the stream (a normal end) or it breaks (thrown). The deadline is for
   * the head of the answer; how long silence may last is for the caller to say, by its signal.
   */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    query: WatchQuery,
    options: CallOptions,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const text = `watch ${resourceName(resource)}`;
    const { answer, release } = await open(this.#line, this.#watchCall(resource, query, text, options));
    try {
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

  async #page<T extends KubeObject>(
    resource: Resource<T>,
    query: ListQuery,
    next: string | undefined,
    options: CallOptions,
  ): Promise<KubeList<T>> {
    const path = withQuery(collectionPath(resource, query.namespace), {
      ...selectors(query),
      limit: String(query.limit ?? PAGE),
      continue: next,
    });
    const call: Call = {
      verb: "list",
      resource: resourceName(resource),
      text: `list ${resourceName(resource)}`,
      repeat: "read",
      request: this.#request("GET", path, options),
      signal: options.signal,
      deadlineMs: options.deadlineMs ?? DEADLINE_MS,
    };
    return await make(this.#line, call, async (answer) => {
      const list = await this.#json(call, answer);
      if (isList<T>(list)) return list;
      throw new OperatorError("KubeUnavailable", `${call.text}: the answer is not a list`);
    });
  }

  #watchCall(resource: AnyResource, query: WatchQuery, text: string, options: CallOptions): Call {
    const path = withQuery(collectionPath(resource, query.namespace), {
      ...selectors(query),
      watch: "1",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(query.timeoutSeconds),
      resourceVersion: query.resourceVersion,
      ...(query.initialEvents === true ? { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" } : {}),
    });
    return {
      verb: "watch",
      resource: resourceName(resource),
      text,
      repeat: "never",
      request: { ...this.#request("GET", path, options), lane: "watch" },
      signal: options.signal,
      deadlineMs: options.deadlineMs ?? WATCH_DEADLINE_MS,
    };
  }

  #call(
    verb: string,
    method: HttpRequest["method"],
    resource: AnyResource,
    ref: Ref,
    options: CallOptions,
    how: How,
  ): Call {
    const path = how.path ?? withQuery(objectPath(resource, ref, how.subresource), how.query ?? {});
    return {
      verb,
      resource: resourceName(resource),
      text: `${verb} ${resourceName(resource)} ${keyOf(ref)}`,
      repeat: how.repeat,
      request: this.#request(method, path, options, how.body, how.contentType),
      signal: options.signal,
      deadlineMs: options.deadlineMs ?? DEADLINE_MS,
    };
  }

  #request(
    method: HttpRequest["method"],
    path: string,
    options: CallOptions,
    body?: unknown,
    contentType = "application/json",
  ): Call["request"] {
    const lane = options.priority === "high" ? "urgent" : "calls";
    if (body === undefined) return { method, path, lane, headers: this.#headers };
    const headers = { ...this.#headers, "content-type": contentType };
    return { method, path, lane, headers, body: JSON.stringify(body) };
  }

  async #object<T extends KubeObject>(resource: Resource<T>, call: Call): Promise<T> {
    return await make(this.#line, call, async (answer) => {
      const object = await this.#json(call, answer);
      if (isWhole(object)) return withKind<T>(object, resource);
      throw new OperatorError("KubeUnavailable", `${call.text}: the answer is not an object`);
    });
  }

  async #json(call: Call, answer: HttpAnswer): Promise<unknown> {
    this.#warnings.tell(call.text, answer.header("warning"));
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

/** What differs between the calls about one object. */
interface How {
  readonly repeat: Repeat;
  /** Another path than the object's own, with query. */
  readonly path?: string;
  readonly subresource?: string;
  readonly query?: Query;
  readonly contentType?: string;
  readonly body?: unknown;
}

function selectors(query: Selection): Query {
  return { labelSelector: query.labelSelector, fieldSelector: query.fieldSelector };
}

/** A merge patch whose metadata names uid and resourceVersion is refused when the object has others. */
function mergeWith(patch: object, preconditions: Preconditions): object {
  if (preconditions.uid === undefined && preconditions.resourceVersion === undefined) return patch;
  const metadata = (patch as { metadata?: object }).metadata;
  return { ...patch, metadata: { ...metadata, ...preconditions } };
}

/** For a JSON patch the same by setting both: `test` would be told as an invalid object, not as a conflict. */
function jsonWith(patch: object, preconditions: Preconditions): readonly unknown[] {
  invariant(Array.isArray(patch), "a JSON patch is a list of operations");
  const set = Object.entries(preconditions).map(([field, value]) => ({ op: "add", path: `/metadata/${field}`, value }));
  return [...set, ...patch];
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
