import type { Selection } from "./path.ts";

export interface CallOptions {
  readonly signal: AbortSignal;
  /** For the whole call, repetitions and waiting for the rate limit included; milliseconds. Default 15 000. */
  readonly deadlineMs?: number;
  /**
   * `high` never waits for the rate limit and has connections of its own: for the lease only. `state` waits for that limit, and for no
   * other call: for who reads the state that it follows, one call after the other, and follows it with a watch otherwise.
   */
  readonly priority?: "normal" | "state" | "high";
}

export interface WatchOptions extends CallOptions {
  /** Called when the server has begun to answer: from then on it sends every change. */
  readonly onOpen?: () => void;
}

export interface CreateOptions extends CallOptions {
  /**
   * Asks only what would become of it: everything is checked, by admission too, and nothing is stored. Unknown fields are refused then,
   * and what is answered has no resourceVersion.
   * https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
   */
  readonly dryRun?: boolean;
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

export interface ApplyOptions extends CallOptions {
  /** Take fields that others own; otherwise such a field is a KubeConflict. */
  readonly force: boolean;
  readonly subresource?: "status";
}

export interface ReplaceOptions extends CallOptions {
  readonly subresource?: "status";
}

export interface RawOptions extends CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
}

export interface ListQuery extends Selection {
  /** Objects per page, 1 to 5000; default 500. All pages are read either way. */
  readonly limit?: number;
}

/** One of its pages. */
export interface PageQuery extends Selection {
  readonly limit: number;
}

export interface WatchQuery extends Selection {
  /** Where to go on. With `initialEvents`, absent: the newest state. */
  readonly resourceVersion?: string;
  /** First the whole state as ADDED events, ended by a bookmark (WatchList). */
  readonly initialEvents?: boolean;
  /** The server ends the stream after this time. */
  readonly timeoutSeconds: number;
}
