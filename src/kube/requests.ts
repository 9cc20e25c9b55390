import type { KnownObject } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import type { Call, Repeat } from "./call.ts";
import { type AnyResource, type Draft, type KubeObject, keyOf, type Ref, resourceName } from "./kinds.ts";
import type {
  ApplyOptions,
  CallOptions,
  CreateOptions,
  DeleteOptions,
  JsonPatch,
  PageQuery,
  PatchOptions,
  Preconditions,
  RawOptions,
  ReplaceOptions,
  WatchQuery,
} from "./options.ts";
import { collectionPath, objectPath, type Query, requireScope, type Selection, withQuery } from "./path.ts";
import type { HttpRequest } from "./transport.ts";

/** Name under which the server records ownership of fields. Changing it gives up every field owned so far. */
export const FIELD_MANAGER = "etcd-cluster-operator";

/** Default deadline of a call: above the default timeout of admission webhooks (10 s), when the server answers. */
export const DEADLINE_MS = 15_000;
/** Deadline for the head of a watch's answer. The API server answers at once, or after up to 3 s for its own cache. */
const WATCH_DEADLINE_MS = 15_000;

const LANES = { normal: "calls", state: "state", high: "urgent" } as const;

/** Parts of a request that differ between calls. */
interface How {
  readonly verb: string;
  readonly method: HttpRequest["method"];
  readonly repeat: Repeat;
  readonly path: string;
  readonly subresource?: string | undefined;
  readonly query?: Query;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly known?: KnownObject;
}

/**
 * Builds the HTTP request of each verb, and sets when it may be repeated.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/
 */
export class Requests {
  readonly #manager: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param manager owner of written fields */
  constructor(userAgent: string, manager = FIELD_MANAGER) {
    this.#manager = manager;
    this.#headers = { accept: "application/json", "user-agent": userAgent };
  }

  get(resource: AnyResource, ref: Ref, options: CallOptions): Call {
    return this.#about(resource, ref, options, { verb: "get", method: "GET", repeat: "read" });
  }

  create(resource: AnyResource, object: Draft<KubeObject>, options: CreateOptions): Call {
    const asking = options.dryRun === true ? { dryRun: "All", fieldValidation: "Strict" } : {};
    return this.#about(resource, object.metadata, options, {
      verb: "create",
      method: "POST",
      repeat: "once",
      path: collectionPath(resource, requireScope(resource, object.metadata.namespace)),
      query: { fieldManager: this.#manager, ...asking },
      body: object,
    });
  }

  apply(resource: AnyResource, object: Draft<KubeObject>, options: ApplyOptions): Call {
    return this.#about(resource, object.metadata, options, {
      verb: "apply",
      method: "PATCH",
      repeat: "guarded",
      subresource: options.subresource,
      query: { fieldManager: this.#manager, force: String(options.force) },
      contentType: "application/apply-patch+yaml", // JSON is YAML
      body: object,
    });
  }

  replace(resource: AnyResource, object: Draft<KubeObject>, options: ReplaceOptions): Call {
    invariant(object.metadata.resourceVersion !== undefined, `replace ${keyOf(object)} carries a resourceVersion`);
    return this.#about(resource, object.metadata, options, {
      verb: "replace",
      method: "PUT",
      known: asKnown(resource, object.metadata, object.metadata),
      repeat: "guarded",
      subresource: options.subresource,
      query: { fieldManager: this.#manager },
      body: object,
    });
  }

  patch(resource: AnyResource, ref: Ref, patch: object | readonly JsonPatch[], options: PatchOptions): Call {
    const preconditions = options.preconditions ?? {};
    const isMerge = options.type === "merge";
    return this.#about(resource, ref, options, {
      verb: "patch",
      method: "PATCH",
      known: asKnown(resource, ref, preconditions),
      repeat: preconditions.resourceVersion === undefined ? "once" : "guarded",
      subresource: options.subresource,
      query: { fieldManager: this.#manager },
      contentType: isMerge ? "application/merge-patch+json" : "application/json-patch+json",
      body: isMerge ? mergeWith(patch, preconditions) : jsonWith(patch, preconditions),
    });
  }

  delete(resource: AnyResource, ref: Ref, options: DeleteOptions): Call {
    invariant(options.preconditions.uid !== "", `delete ${keyOf(ref)} carries a uid`);
    const grace = options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds };
    return this.#about(resource, ref, options, {
      verb: "delete",
      method: "DELETE",
      known: asKnown(resource, ref, options.preconditions),
      repeat: "guarded",
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: options.preconditions,
        propagationPolicy: options.propagation ?? "Background",
        ...grace,
      },
    });
  }

  /** One page; `next` is the `continue` token of the page before. */
  list(resource: AnyResource, query: PageQuery, next: string | undefined, options: CallOptions): Call {
    const path = withQuery(collectionPath(resource, query.namespace), {
      ...selectors(query),
      limit: String(query.limit),
      continue: next,
    });
    return this.#over(resource, options, { verb: "list", method: "GET", repeat: "read", path });
  }

  watch(resource: AnyResource, query: WatchQuery, options: CallOptions): Call {
    const path = withQuery(collectionPath(resource, query.namespace), {
      ...selectors(query),
      watch: "1",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(query.timeoutSeconds),
      resourceVersion: query.resourceVersion,
      ...(query.initialEvents === true ? { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" } : {}),
    });
    const call = this.#over(resource, options, { verb: "watch", method: "GET", repeat: "never", path });
    const deadlineMs = options.deadlineMs ?? WATCH_DEADLINE_MS;
    return { ...call, deadlineMs, request: { ...call.request, lane: "watch" } };
  }

  raw(method: "GET" | "POST", path: string, options: RawOptions): Call {
    const repeat = options.repeat ?? (method === "GET" ? "read" : "once");
    const named = { resource: "", text: `${method} ${path}` };
    return this.#call(named, options, { verb: "raw", method, repeat, path, body: options.body });
  }

  #about(resource: AnyResource, ref: Ref, options: CallOptions, how: Omit<How, "path"> & Partial<How>): Call {
    const path = withQuery(how.path ?? objectPath(resource, ref, how.subresource), how.query ?? {});
    const named = { resource: resourceName(resource), text: `${how.verb} ${resourceName(resource)} ${keyOf(ref)}` };
    return this.#call(named, options, { ...how, path });
  }

  #over(resource: AnyResource, options: CallOptions, how: How): Call {
    const name = resourceName(resource);
    return this.#call({ resource: name, text: `${how.verb} ${name}` }, options, how);
  }

  #call(named: { resource: string; text: string }, options: CallOptions, how: How): Call {
    const { signal, deadlineMs = DEADLINE_MS } = options;
    const request = this.#request(options, how);
    return { ...named, verb: how.verb, repeat: how.repeat, request, signal, deadlineMs, known: how.known };
  }

  #request(options: CallOptions, { method, path, body, contentType = "application/json" }: How): Call["request"] {
    const lane = LANES[options.priority ?? "normal"];
    if (body === undefined) return { method, path, lane, headers: this.#headers };
    const headers = { ...this.#headers, "content-type": contentType };
    return { method, path, lane, headers, body: JSON.stringify(body) };
  }
}

function selectors(query: Selection): Query {
  return { labelSelector: query.labelSelector, fieldSelector: query.fieldSelector };
}

function asKnown({ plural }: AnyResource, { namespace, name }: Ref, preconditions: Preconditions): KnownObject {
  return { plural, namespace, name, uid: preconditions.uid, resourceVersion: preconditions.resourceVersion };
}

/** Adds preconditions to a merge patch: the server refuses it when the object has another uid or resourceVersion. */
function mergeWith(patch: object, preconditions: Preconditions): object {
  if (preconditions.uid === undefined && preconditions.resourceVersion === undefined) return patch;
  const metadata = (patch as { metadata?: object }).metadata;
  return { ...patch, metadata: { ...metadata, ...preconditions } };
}

/** Adds preconditions to a JSON patch by setting the fields: a failed `test` would be reported as an invalid object. */
function jsonWith(patch: object, preconditions: Preconditions): readonly unknown[] {
  invariant(Array.isArray(patch), "a JSON patch is a list of operations");
  const set = Object.entries(preconditions).map(([field, value]) => ({ op: "add", path: `/metadata/${field}`, value }));
  return [...set, ...patch];
}
