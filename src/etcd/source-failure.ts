import { Code, ConnectError } from "@connectrpc/connect";
import type { OperatorError } from "#base/error.ts";
import { isTlsFailure } from "./tls-failure.ts";

/** Kind of failure of a snapshot source, for the user that configured it. */
export type SourceFailure =
  /** One side does not trust the other's certificate, or only one side speaks TLS. */
  | "TLS"
  /** Unknown user, wrong password or missing permission. */
  | "Auth"
  /** The member answers and has no leader. */
  | "NoLeader"
  /** No answer, or any failure not listed above. */
  | "Unreachable";

/**
 * Texts of etcd's authentication and permission errors. Matching the text is necessary: only some of them have their
 * own gRPC code (api/v3rpc/rpctypes/error.go, server/auth/store.go).
 */
const AUTH_TEXT =
  /authentication failed|user name (?:is empty|not found)|invalid auth token|permission denied|auth store is old|^auth: /;
const NO_LEADER_TEXT = /no leader|leader changed|request timed out/;

/** Classifies a failure. @param error thrown by a SnapshotSource */
export function sourceFailureOf(error: OperatorError): SourceFailure {
  if (isTlsFailure(error)) return "TLS";
  if (!(error.cause instanceof ConnectError)) return "Unreachable";
  const { code, rawMessage } = error.cause;
  if (code === Code.Unauthenticated || code === Code.PermissionDenied || AUTH_TEXT.test(rawMessage)) return "Auth";
  return NO_LEADER_TEXT.test(rawMessage) ? "NoLeader" : "Unreachable";
}
