import { S3ServiceException } from "@aws-sdk/client-s3";
import type { StoreReason } from "./error.ts";
import { type Answer, reasonOfStatus } from "./failure.ts";

/** Codes of S3 and of servers that speak it. Source: "Error responses" in Amazon's API reference; MinIO's and Ceph's own. */
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
  // The bucket asks for what we do not send. Its own words say what.
  InvalidRequest: "InvalidLocation",
  KeyTooLongError: "InvalidLocation",
  XMinioInvalidObjectName: "InvalidLocation",
  XMinioStorageFull: "NoSpace",
  QuotaExceeded: "NoSpace",
  // Another write or delete of the same key is under way.
  ConditionalRequestConflict: "Unreachable",
  OperationAborted: "Unreachable",
  SlowDown: "Unreachable",
  RequestTimeout: "Unreachable",
  // What arrived is not what was sent.
  BadDigest: "Unreachable",
  IncompleteBody: "Unreachable",
  XAmzContentSHA256Mismatch: "Unreachable",
};

/** What a server answered, or the library found out before it asked one. */
export function s3Answer(thrown: unknown): Answer | undefined {
  if (!(thrown instanceof Error)) return undefined;
  if (thrown.name === "CredentialsProviderError" || thrown.name === "TokenProviderError") {
    return { reason: "WrongCredentials", text: thrown.message };
  }
  if (!(thrown instanceof S3ServiceException)) return undefined;
  const status = thrown.$metadata.httpStatusCode;
  const reason = REASONS[thrown.name] ?? reasonOfStatus(status);
  return { reason, text: `${thrown.name}${status === undefined ? "" : ` (HTTP ${status})`}: ${thrown.message}` };
}
