import type { ClusterId } from "./types.ts";

/**
 * Default deadline of a call in milliseconds. etcd answers in a few; an election takes about 1 s. Smaller: calls fail
 * during an election. Larger: an unreachable member delays its caller for longer.
 */
export const DEFAULT_DEADLINE_MS = 2_000;

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, which then fails with `Cancelled`. */
  readonly signal: AbortSignal;
  /** Milliseconds for the whole call, connecting included. Undefined: DEFAULT_DEADLINE_MS. */
  readonly deadlineMs?: number | undefined;
  /**
   * The cluster that must answer. Calls that change etcd check it with a status call first; all calls check their
   * answer. Undefined only while the cluster is not known yet.
   */
  readonly expectedClusterId?: ClusterId | undefined;
}

/** Text is sent as UTF-8. */
export type Bytes = string | Uint8Array;
