import { Code, ConnectError } from "@connectrpc/connect";
import { OperatorError } from "#base/error.ts";
import { type EtcdRefusal, REFUSAL_TEXTS } from "#etcd/error.ts";

export function timedOut(): OperatorError {
  return new OperatorError("EtcdUnavailable", "etcdserver: request timed out");
}

/** A refusal as the real client throws it; callers recognize it by its cause. */
export function refusal(name: EtcdRefusal): OperatorError {
  const cause = new ConnectError(REFUSAL_TEXTS[name], Code.FailedPrecondition);
  return new OperatorError("EtcdRejected", cause.message, { cause });
}
