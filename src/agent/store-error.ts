import { StoreError, type StoreReason } from "#objectstore/error.ts";
import { AgentError } from "./error.ts";
import type { FailureReason } from "./report.ts";

const REASONS: Readonly<Record<StoreReason, FailureReason>> = {
  WrongCredentials: "WrongCredentials",
  AccessDenied: "AccessDenied",
  NoSuchBucket: "NoSuchBucket",
  NoSuchObject: "NoSuchObject", // Deleted just now: nothing is read before it was seen to be there.
  ObjectExists: "ObjectExists",
  NoSpace: "NoSpace",
  Unreachable: "StoreUnreachable",
  Timeout: "StoreUnreachable",
  TLS: "StoreTLS",
  InvalidLocation: "BadTask",
  Aborted: "Stopped",
  Other: "Internal",
};

/** What a store's failure is in a report; its message names the place, and no secret. */
export function storeError(error: StoreError): AgentError {
  return new AgentError(REASONS[error.reason], error.message, { cause: error });
}

export function isStoreError(thrown: unknown, reason: StoreReason): boolean {
  return thrown instanceof StoreError && thrown.reason === reason;
}
