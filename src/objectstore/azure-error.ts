import { RestError } from "@azure/storage-blob";
import type { StoreReason } from "./error.ts";
import { type Answer, networkFailure, reasonOfStatus } from "./failure.ts";

/** Source: "Status and error codes" and "Blob Storage error codes" in Azure's reference. */
const REASONS: Readonly<Record<string, StoreReason>> = {
  ContainerNotFound: "NoSuchBucket",
  ContainerBeingDeleted: "NoSuchBucket",
  BlobNotFound: "NoSuchObject",
  ResourceNotFound: "NoSuchBucket",
  BlobAlreadyExists: "ObjectExists",
  ConditionNotMet: "ObjectExists",
  UnauthorizedBlobOverwrite: "ObjectExists",
  // Uncommitted blocks are dropped when another writer commits its list.
  InvalidBlockList: "ObjectExists",
  AuthenticationFailed: "WrongCredentials",
  InvalidAuthenticationInfo: "WrongCredentials",
  NoAuthenticationInformation: "WrongCredentials",
  InvalidResourceName: "InvalidLocation",
  OutOfRangeInput: "InvalidLocation",
  InvalidUri: "InvalidLocation",
  AccountIsDisabled: "AccessDenied",
  // A policy, a legal hold or a lease protects the blob from deletion.
  BlobImmutableDueToPolicy: "AccessDenied",
  BlobImmutableDueToLegalHold: "AccessDenied",
  LeaseIdMissing: "AccessDenied",
};

/** Reason and text of the store's answer, or of the failed request. */
export function azureAnswer(thrown: unknown): Answer | undefined {
  // The library sends tokens only over TLS, and reports that only as text.
  if (thrown instanceof Error && /non-TLS protected/.test(thrown.message))
    return { reason: "TLS", text: thrown.message };
  if (!(thrown instanceof RestError)) return undefined;
  if (thrown.statusCode === undefined) return networkFailure(thrown) ?? unsent(thrown);
  const { statusCode } = thrown;
  // The answer to HEAD has no body: the code is only in a header.
  const code = thrown.code ?? thrown.response?.headers.get("x-ms-error-code") ?? "";
  const [sentence = ""] = thrown.message.split("\n");
  // The emulator has one code for unknown and unauthorized clients.
  const reason = /failed to authenticate/.test(sentence) ? "WrongCredentials" : REASONS[code];
  return { reason: reason ?? reasonOfStatus(statusCode), text: `${code} (HTTP ${statusCode}): ${sentence}` };
}

function unsent(thrown: RestError): Answer {
  // The answer was invalid, or the connection broke without a Node error code.
  return { reason: "Unreachable", text: `${thrown.code ?? ""}: ${thrown.message}` };
}
