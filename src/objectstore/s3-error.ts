import { S3ServiceException } from "@aws-sdk/client-s3";
import { systemClock } from "#base/clock.ts";
import type { StoreReason } from "./error.ts";
import { type Answer, reasonOfStatus } from "./failure.ts";

/**
 * Error codes of S3 and compatible servers. Source: "Error responses" in Amazon's API reference; MinIO's and Ceph's
 * own.
 */
const REASONS: Readonly<Record<string, StoreReason>> = {
  NoSuchBucket: "NoSuchBucket",
  NoSuchKey: "NoSuchObject",
  NoSuchUpload: "NoSuchObject",
  PreconditionFailed: "ObjectExists",
  InvalidAccessKeyId: "WrongCredentials",
  SignatureDoesNotMatch: "WrongCredentials",
  ExpiredToken: "WrongCredentials",
  InvalidToken: "WrongCredentials",
  InvalidSecurity: "WrongCredentials",
  XAdminUserNotFound: "WrongCredentials",
  AuthorizationHeaderMalformed: "InvalidLocation",
  PermanentRedirect: "InvalidLocation",
  InvalidBucketName: "InvalidLocation",
  // The bucket requires something that is not sent; its message names it.
  InvalidRequest: "InvalidLocation",
  KeyTooLongError: "InvalidLocation",
  XMinioInvalidObjectName: "InvalidLocation",
  ObjectLocked: "AccessDenied",
  XMinioStorageFull: "NoSpace",
  QuotaExceeded: "NoSpace",
  // A concurrent write or delete of the same key.
  ConditionalRequestConflict: "Unreachable",
  OperationAborted: "Unreachable",
  SlowDown: "Unreachable",
  RequestTimeout: "Unreachable",
  // The data was damaged in transit.
  BadDigest: "Unreachable",
  IncompleteBody: "Unreachable",
  XAmzContentSHA256Mismatch: "Unreachable",
};

/** Reason and text of the server's answer, or of the library's own error. */
export function s3Answer(thrown: unknown): Answer | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const status = s3Status(thrown);
  if (!(thrown instanceof S3ServiceException)) {
    // The answer may be a load balancer's HTML page, which the library cannot parse.
    if (status === undefined || status < 400) return undefined;
    return { reason: reasonOfStatus(status), text: `HTTP ${status} with a body that is not XML` };
  }
  if (thrown.name === "RequestTimeTooSkewed") return wrongClock(thrown);
  // MinIO's code for an object under a lock is that of any invalid request.
  const isLocked = thrown.name === "InvalidRequest" && /\bWORM\b/.test(thrown.message);
  const reason = isLocked ? "AccessDenied" : (REASONS[thrown.name] ?? reasonOfStatus(status));
  return { reason, text: `${thrown.name}${status === undefined ? "" : ` (HTTP ${status})`}: ${thrown.message}` };
}

/** Fields of RequestTimeTooSkewed. When the body has no ServerTime, the message uses the header Date. */
interface Skewed {
  readonly RequestTime?: string;
  readonly ServerTime?: string;
  readonly $metadata: { readonly clockSkewCorrected?: boolean };
}

function wrongClock(thrown: S3ServiceException): Answer {
  const { RequestTime, ServerTime, $metadata } = thrown as unknown as Skewed;
  const s = Math.round(
    (msOf(ServerTime ?? headerOf(thrown, "date")) - (msOf(RequestTime) || systemClock.wallMs())) / 1000,
  );
  const by = Number.isNaN(s) ? "" : `: it is ${Math.abs(s)} s ${s < 0 ? "ahead of" : "behind"} the store's clock`;
  const text = `RequestTimeTooSkewed (HTTP 403): the clock of the pod's node is wrong${by}. Correct the node's time`;
  // The library signs the next request with the store's time, if it knows that.
  return { reason: "WrongCredentials", text, mayPass: $metadata.clockSkewCorrected === true };
}

/** Milliseconds since 1970, of a time as in headers, ISO 8601 or its short form `20260101T120000Z`; else NaN. */
function msOf(time = ""): number {
  return Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}

function headerOf({ $response }: S3ServiceException, name: string): string | undefined {
  return ($response?.headers as Readonly<Record<string, string>> | undefined)?.[name];
}

/** HTTP status of the answer that caused this error. The library sets it even when it cannot parse the answer. */
export function s3Status(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !("$metadata" in thrown)) return undefined;
  return (thrown.$metadata as { readonly httpStatusCode?: number } | undefined)?.httpStatusCode;
}
