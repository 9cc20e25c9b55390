import type { ClusterId } from "./types.ts";

/** What every call needs. */
export interface CallOptions {
  /** Ends the call with `Cancelled`. */
  readonly signal: AbortSignal;
  /** For the whole call, connecting included, in milliseconds; when undefined: DEFAULT_DEADLINE_MS in grpc-client.ts. */
  readonly deadlineMs?: number | undefined;
  /**
   * The cluster that must answer. Calls that change something ask for it before they act, all others check their answer.
   * Undefined only where the cluster is not known yet.
   */
  readonly expectedClusterId?: ClusterId | undefined;
}

/** Text is sent as UTF-8. */
export type Bytes = string | Uint8Array;
