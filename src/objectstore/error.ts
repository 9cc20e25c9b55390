/** Why a store did not do what was asked. Stable: they go to the report of a Job, and from there to conditions. */
export type StoreReason =
  /** The store does not know who asks, or the credentials are missing, expired or not to be read. User. */
  | "WrongCredentials"
  /** The store knows who asks and does not allow it. User. */
  | "AccessDenied"
  /** The bucket, container or directory is not there. User. */
  | "NoSuchBucket"
  /** The object is not there. */
  | "NoSuchObject"
  /** An object of this key is there, and nothing is ever overwritten. */
  | "ObjectExists"
  /** The store is full, or a quota is used up. User. */
  | "NoSpace"
  /** No connection, or one that broke, or a server that says "later". Environment: worth another attempt. */
  | "Unreachable"
  /** The server's certificate is not trusted, or there is no TLS where it is asked for, or TLS where it is not. User. */
  | "TLS"
  /** The server took the connection and made no progress for too long. Environment: worth another attempt. */
  | "Timeout"
  /** The place or the key cannot be what was written. User. */
  | "InvalidLocation"
  /** The caller's signal. */
  | "Aborted"
  /** Everything else; the message has the store's own words. */
  | "Other";

/**
 * What every call to a store throws. The message names the operation, the place and the key; the `cause` is what the
 * library threw, which may hold whole requests: show it to nobody.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly reason: StoreReason;

  constructor(reason: StoreReason, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

/** Whether the same call may succeed later without anybody's doing. */
export function isWorthAnotherTry(reason: StoreReason): boolean {
  return reason === "Unreachable" || reason === "Timeout";
}
