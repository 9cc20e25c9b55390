/** Why a store failed. Stable: reasons are passed to a Job's report and from there to conditions. */
export type StoreReason =
  /** The store rejects the credentials, or they are missing, expired or unreadable. User. */
  | "WrongCredentials"
  /** The store knows the client and denies access. User. */
  | "AccessDenied"
  /** The bucket, container or directory does not exist. User. */
  | "NoSuchBucket"
  /** The object does not exist. */
  | "NoSuchObject"
  /** An object with this key exists; nothing is ever overwritten. */
  | "ObjectExists"
  /** The store is full, or a quota is exceeded. User. */
  | "NoSpace"
  /** No connection, a broken one, or a temporarily unavailable server. Environment: a retry may help. */
  | "Unreachable"
  /** The server's certificate is not trusted, or only one side uses TLS. User. */
  | "TLS"
  /** The server accepted the connection and made no progress for too long. Environment: a retry may help. */
  | "Timeout"
  /** The location or key is invalid. User. */
  | "InvalidLocation"
  /** The caller's signal aborted. */
  | "Aborted"
  /** Everything else; the message has the store's text. */
  | "Other";

/**
 * Error of every call to a store. The message names the operation, the place and the key. The `cause` is the library's
 * error, which may contain whole requests: never show it.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly reason: StoreReason;
  /** Whether the platform may still provide what is missing, such as the token file of an identity. */
  readonly mayPass: boolean;

  constructor(reason: StoreReason, message: string, options: { cause?: unknown; mayPass?: boolean } = {}) {
    super(message, options);
    this.reason = reason;
    this.mayPass = options.mayPass ?? false;
  }
}

/** Whether a retry may succeed without any change by a user. */
export function isWorthAnotherTry({ reason, mayPass }: StoreError): boolean {
  return reason === "Unreachable" || reason === "Timeout" || mayPass;
}
