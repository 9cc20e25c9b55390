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
  // Parts that wait are dropped when another writer's are put together.
  InvalidBlockList: "ObjectExists",
  AuthenticationFailed: "WrongCredentials",
  InvalidAuthenticationInfo: "WrongCredentials",
  NoAuthenticationInformation: "WrongCredentials",
  InvalidResourceName: "InvalidLocation",
  OutOfRangeInput: "InvalidLocation",
  InvalidUri: "InvalidLocation",
  AccountIsDisabled: "AccessDenied",
};

/** What the store answered, or what became of the request on its way. */
export function azureAnswer(thrown: unknown): Answer | undefined {
  // The library sends a token over TLS alone, and tells it by a sentence.
  if (thrown instanceof Error && /non-TLS protected/.test(thrown.message))
    return { reason: "TLS", text: thrown.message };
  if (!(thrown instanceof RestError)) return undefined;
  if (thrown.statusCode === undefined) return networkFailure(thrown) ?? unsent(thrown);
  const { statusCode } = thrown;
  // The answer to HEAD has no body: the code stands in a header alone.
  const code = thrown.code ?? thrown.response?.headers.get("x-ms-error-code") ?? "";
  const [sentence = ""] = thrown.message.split("\n");
  // The emulator has one code for who is unknown and who is not allowed.
  const reason = /failed to authenticate/.test(sentence) ? "WrongCredentials" : REASONS[code];
  return { reason: reason ?? reasonOfStatus(statusCode), text: `${code} (HTTP ${statusCode}): ${sentence}` };
}

function unsent(thrown: RestError): Answer {
  // Its answer was no answer, or the connection broke in a way of which Node has no code.
  return { reason: "Unreachable", text: `${thrown.code ?? ""}: ${thrown.message}` };
}
