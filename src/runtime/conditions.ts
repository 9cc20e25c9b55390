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
 * The old conditions with one replaced; the transition time moves only when `status` does. Sorted by type. Pure.
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
