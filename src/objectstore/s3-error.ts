import { S3ServiceException } from "@aws-sdk/client-s3";
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
  RequestTimeTooSkewed: "WrongCredentials",
  AuthorizationHeaderMalformed: "InvalidLocation",
  PermanentRedirect: "InvalidLocation",
  InvalidBucketName: "InvalidLocation",
  // The bucket requires something that is not sent; its message names it.
  InvalidRequest: "InvalidLocation",
  KeyTooLongError: "InvalidLocation",
  XMinioInvalidObjectName: "InvalidLocation",
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
  const reason = REASONS[thrown.name] ?? reasonOfStatus(status);
  return { reason, text: `${thrown.name}${status === undefined ? "" : ` (HTTP ${status})`}: ${thrown.message}` };
}

/** HTTP status of the answer that caused this error. The library sets it even when it cannot parse the answer. */
export function s3Status(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !("$metadata" in thrown)) return undefined;
  return (thrown.$metadata as { readonly httpStatusCode?: number } | undefined)?.httpStatusCode;
}
