import { rfc3339 } from "#base/timestamp.ts";
import type { FailingReason } from "#runtime/controller.ts";

/** A condition as Kubernetes writes it (https://kubernetes.io/docs/reference/using-api/api-concepts/, metav1.Condition). */
export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  observedGeneration: number;
  /** RFC 3339. */
  lastTransitionTime: string;
}

/** Longest condition message, in characters; the API server refuses more than 32,768. */
const MAX_MESSAGE_LENGTH = 2_048;

/**
 * The old conditions with one replaced, sorted by type. The transition time changes only when `status` changes. Pure.
 * @param now RFC 3339
 */
export function withCondition(
  old: readonly Condition[],
  next: Omit<Condition, "lastTransitionTime">,
  now: string,
): Condition[] {
  const previous = old.find((condition) => condition.type === next.type);
  const lastTransitionTime = previous?.status === next.status ? previous.lastTransitionTime : now;
  const message =
    next.message.length <= MAX_MESSAGE_LENGTH ? next.message : `${next.message.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
  const others = old.filter((condition) => condition.type !== next.type);
  return [...others, { ...next, message, lastTransitionTime }].sort((a, b) => (a.type < b.type ? -1 : 1));
}

/**
 * Computes the status of an object when all its passes fail.
 * @param because the failure, as a clause @param nowMs milliseconds since 1970 @param reason default: InternalError
 */
export type Failing<T, Status> = (object: T, because: string, nowMs: number, reason?: FailingReason) => Status;

/** The status with these conditions Unknown, because all passes of the object fail. Everything else stays. */
export function unknownStatus<Status extends { readonly conditions?: Condition[] | undefined }>(
  { metadata, status }: { readonly metadata: { readonly generation?: number }; readonly status?: Status | undefined },
  types: readonly string[],
  ...[because, nowMs, reason = "InternalError"]: [because: string, nowMs: number, reason?: FailingReason]
): Status {
  const observedGeneration = metadata.generation ?? 0;
  const unknown = { status: "Unknown" as const, reason, message: because, observedGeneration };
  const conditions = types.reduce(
    (all, type) => withCondition(all, { type, ...unknown }, rfc3339(nowMs)),
    status?.conditions ?? [],
  );
  return { ...status, conditions } as Status;
}
