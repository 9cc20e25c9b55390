import type { ClusterId } from "./types.ts";

/** How long a call may take when the caller does not say, in milliseconds. etcd answers in a few; an election takes about 1 s. */
export const DEFAULT_DEADLINE_MS = 2_000;

/** What every call needs. */
export interface CallOptions {
  /** Ends the call with `Cancelled`. */
  readonly signal: AbortSignal;
  /** For the whole call, connecting included, in milliseconds; when undefined: DEFAULT_DEADLINE_MS. */
  readonly deadlineMs?: number | undefined;
  /**
   * The cluster that must answer. Calls that change something ask for it before they act, all others check their answer.
   * Undefined only where the cluster is not known yet.
   */
  readonly expectedClusterId?: ClusterId | undefined;
}

/** Text is sent as UTF-8. */
export type Bytes = string | Uint8Array;
