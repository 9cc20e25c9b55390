/**
 * Stable codes for metrics, conditions and events; the message is for users.
 * Each code implies the necessary action: the user's, none (the environment heals), or ours (a bug).
 */
export type ErrorCode =
  /** The API server could not be reached, timed out or is overloaded. Environment. */
  | "KubeUnavailable"
  /** The API server answered 429; `retryAfterMs` may be set. Environment. */
  | "KubeThrottled"
  /** A precondition (uid, resourceVersion, field ownership) no longer holds: observe again. Normal. */
  | "KubeConflict"
  /** The object to be created exists already. Normal. */
  | "KubeAlreadyExists"
  /** The object does not exist. Normal. */
  | "KubeNotFound"
  /** The operator lacks a right. User (RBAC). */
  | "KubeForbidden"
  /** The API server rejected the object: schema, CEL, admission or quota. User. */
  | "KubeInvalid"
  /** The resourceVersion asked for is too old (HTTP 410): list again. Normal. */
  | "KubeExpired"
  /** The member could not be reached in time. A call that changes something may have happened. Environment. */
  | "EtcdUnavailable"
  /** The member answered with an error. */
  | "EtcdRejected"
  /** The member cannot do this at the moment (a learner lags, another request was first): observe again. Normal. */
  | "EtcdNotNow"
  /** The answer came from a cluster other than the recorded one, and is ignored. User. */
  | "EtcdWrongCluster"
  /** The object exceeds the size that the operator reads. User. */
  | "ObjectTooLarge"
  /** The spec cannot be carried out. User. */
  | "InvalidSpec"
  /** Kubeconfig, flags or environment of the operator process are wrong. User. */
  | "InvalidConfig"
  /** This process does not hold the lease any more: nothing may be written. Environment. */
  | "LeaseLost"
  /** The deadline of a pass or call passed, or it was cancelled. Environment. */
  | "Cancelled"
  /** A state that the code holds to be impossible. Us. */
  | "Bug";

/** The object of a write, as the writer knew it. */
export interface KnownObject {
  /** Plural of its kind, such as `replicasets`. */
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string | undefined;
  /** Version that was a precondition of the write; undefined when there was none. */
  readonly resourceVersion: string | undefined;
}

interface ErrorOptions {
  readonly cause?: unknown;
  readonly retryAfterMs?: number;
  readonly known?: KnownObject;
}

/** The only error class of this project. Foreign errors are converted once, where they enter, and kept as `cause`. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";
  readonly code: ErrorCode;
  /** Retry-After of the API server, in milliseconds. Set with `KubeThrottled` only. */
  readonly retryAfterMs: number | undefined;
  /**
   * The object at the API server in a state that differs from ours. Set with `KubeConflict` and `KubeNotFound` of a
   * write only.
   */
  readonly known: KnownObject | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.known = options.known;
  }
}

/** Converts anything thrown to an OperatorError; an unexpected error becomes a `Bug`. */
export function asOperatorError(thrown: unknown): OperatorError {
  if (thrown instanceof OperatorError) return thrown;
  if (thrown instanceof Error && (thrown.name === "AbortError" || thrown.name === "TimeoutError")) {
    return new OperatorError("Cancelled", thrown.message, { cause: thrown });
  }
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return new OperatorError("Bug", message, { cause: thrown });
}

/** Whether `thrown` is an OperatorError with one of these codes. */
export function hasCode<Code extends ErrorCode>(
  thrown: unknown,
  ...codes: readonly Code[]
): thrown is OperatorError & { readonly code: Code } {
  return thrown instanceof OperatorError && (codes as readonly ErrorCode[]).includes(thrown.code);
}
