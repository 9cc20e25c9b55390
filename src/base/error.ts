/**
 * Stable codes: they go to metrics, conditions and events; the message is for people.
 * Who must act is said behind each: the user, the environment (wait, it heals) or us (a bug).
 */
export type ErrorCode =
  /** The API server could not be reached, timed out or is overloaded. Environment. */
  | "KubeUnavailable"
  /** The API server answered 429; `retryAfterMs` may be set. Environment. */
  | "KubeThrottled"
  /** A precondition (uid, resourceVersion, field ownership) no longer holds: look again. Normal. */
  | "KubeConflict"
  /** The object to be created is there already. Normal. */
  | "KubeAlreadyExists"
  /** The object is not there. Normal. */
  | "KubeNotFound"
  /** Our own rights do not suffice. User (RBAC). */
  | "KubeForbidden"
  /** The API server refused the object: schema, CEL, admission or quota. User. */
  | "KubeInvalid"
  /** The resourceVersion asked for is too old (HTTP 410): list again. Normal. */
  | "KubeExpired"
  /** The member could not be reached in time. A call that changes something may have happened. Environment. */
  | "EtcdUnavailable"
  /** The member answered and refused. */
  | "EtcdRejected"
  /** The member answered that this cannot be done at this moment (a learner lags, somebody was faster): look again. Normal. */
  | "EtcdNotNow"
  /** The answer came from a cluster other than the recorded one: never believed. User. */
  | "EtcdWrongCluster"
  /** What a person wrote cannot be done. User. */
  | "InvalidSpec"
  /** Kubeconfig, flags or environment of the operator process are wrong. User. */
  | "InvalidConfig"
  /** This process does not hold the lease any more: nothing may be changed. Environment. */
  | "LeaseLost"
  /** The deadline of a pass or call passed, or it was cancelled. Environment. */
  | "Cancelled"
  /** Something that we hold to be impossible. Us. */
  | "Bug";

/** The object that a change was for, as it was known to who wanted to make it. */
export interface KnownObject {
  /** Of its kind, such as `replicasets`. */
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string | undefined;
  /** What had to be its version still; undefined when any would have done. */
  readonly resourceVersion: string | undefined;
}

interface ErrorOptions {
  readonly cause?: unknown;
  readonly retryAfterMs?: number;
  readonly known?: KnownObject;
}

/** The one error class of this project. Foreign errors are translated into it once, at the border, and kept as `cause`. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";
  readonly code: ErrorCode;
  /** How long the other side asked us to stay away, in milliseconds. Set with `KubeThrottled` only. */
  readonly retryAfterMs: number | undefined;
  /** Of what the API server has another state than we know. Set with `KubeConflict` and `KubeNotFound` of a change only. */
  readonly known: KnownObject | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.known = options.known;
  }
}

/** Anything that was thrown, as an OperatorError; what we did not translate at a border is a `Bug`. */
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
