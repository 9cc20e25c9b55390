import { StoreError, type StoreReason } from "#objectstore/error.ts";
import { AgentError } from "./error.ts";
import type { FailureReason } from "./report.ts";

const REASONS: Readonly<Record<StoreReason, FailureReason>> = {
  WrongCredentials: "WrongCredentials",
  AccessDenied: "AccessDenied",
  NoSuchBucket: "NoSuchBucket",
  NoSuchObject: "NoSuchObject", // Deleted just now: objects are read only after they were seen.
  ObjectExists: "ObjectExists",
  NoSpace: "NoSpace",
  Unreachable: "StoreUnreachable",
  Timeout: "StoreUnreachable",
  TLS: "StoreTLS",
  InvalidLocation: "BadTask",
  Aborted: "Stopped",
  Other: "Internal",
};

/** Translates a store's failure into a report's reason; the message names the place, and no secret. */
export function storeError(error: StoreError): AgentError {
  return new AgentError(REASONS[error.reason], error.message, { cause: error });
}

export function isStoreError(thrown: unknown, reason: StoreReason): boolean {
  return thrown instanceof StoreError && thrown.reason === reason;
}
