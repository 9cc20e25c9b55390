import type { Repeat } from "./call.ts";
import type { Selection } from "./path.ts";

export interface CallOptions {
  readonly signal: AbortSignal;
  /** Limit for the whole call, repetitions and the wait for the rate limit included; milliseconds. Default 15 000. */
  readonly deadlineMs?: number;
  /**
   * `high`: for leases only; never waits for the rate limit, and has its own connections. `state`: for the list before
   * a watch; waits for the rate limit, but not for other calls in flight.
   */
  readonly priority?: "normal" | "state" | "high";
}

export interface ListOptions<T> extends CallOptions {
  /** Reduces each object as it arrives; undefined leaves it out. Default: objects are returned unchanged. */
  readonly keep?: (object: T) => T | undefined;
}

export interface WatchOptions extends CallOptions {
  /** Called with the head of the answer: from then on the server sends every change. */
  readonly onOpen?: () => void;
}

export interface CreateOptions extends CallOptions {
  /**
   * Dry run: validation and admission run, and nothing is stored. Unknown fields are refused, and the answer has no
   * resourceVersion.
   * https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
   */
  readonly dryRun?: boolean;
}

/** Preconditions that the server checks with the change; a failed one is a KubeConflict. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface DeleteOptions extends CallOptions {
  /** The uid is required, since a new object may have taken the name. */
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

export interface ApplyOptions extends CallOptions {
  /** Takes ownership of fields that other managers own; if false, such a field is a KubeConflict. */
  readonly force: boolean;
  readonly subresource?: "status";
}

export interface ReplaceOptions extends CallOptions {
  readonly subresource?: "status";
}

export interface RawOptions extends CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Longest answer in bytes, with the error KubeInvalid for a longer one. Default: the bound of every answer. */
  readonly mostBytes?: number;
  /** Default: `read` for GET, `once` for POST. */
  readonly repeat?: Repeat;
}

export interface ListQuery extends Selection {
  /** Objects per page, 1 to 5000; default 500. All pages are read either way. */
  readonly limit?: number;
}

/** One page of a list. */
export interface PageQuery extends Selection {
  readonly limit: number;
}

export interface WatchQuery extends Selection {
  /** Version after which changes are sent. Absent with `initialEvents`: starts with the newest state. */
  readonly resourceVersion?: string;
  /** Sends the whole state first, as ADDED events that end with a bookmark (WatchList). */
  readonly initialEvents?: boolean;
  /** The server ends the stream after this time. */
  readonly timeoutSeconds: number;
}
