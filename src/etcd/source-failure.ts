import { Code, ConnectError } from "@connectrpc/connect";
import type { OperatorError } from "#base/error.ts";
import { isTlsFailure } from "./tls-failure.ts";

/** What a source's failure means to whoever set it up. */
export type SourceFailure =
  /** A certificate is not believed, theirs or ours, or only one side speaks TLS. */
  | "TLS"
  /** Unknown user, wrong password, or one who may not do this. */
  | "Auth"
  /** It answers, and knows no leader. */
  | "NoLeader"
  /** No answer, or another one. */
  | "Unreachable";

/** etcd's words for who is not let in, in lower case; it sends few of them under a code of its own (api/v3rpc/rpctypes/error.go, and server/auth/store.go). */
const AUTH_TEXT =
  /authentication failed|user name (?:is empty|not found)|invalid auth token|permission denied|auth store is old|^auth: /;
const NO_LEADER_TEXT = /no leader|leader changed|request timed out/;

/** @param error what a SnapshotSource failed with */
export function sourceFailureOf(error: OperatorError): SourceFailure {
  if (isTlsFailure(error)) return "TLS";
  if (!(error.cause instanceof ConnectError)) return "Unreachable";
  const { code, rawMessage } = error.cause;
  if (code === Code.Unauthenticated || code === Code.PermissionDenied || AUTH_TEXT.test(rawMessage)) return "Auth";
  return NO_LEADER_TEXT.test(rawMessage) ? "NoLeader" : "Unreachable";
}
