import type { PodDisruptionBudget } from "./kinds.ts";

type Selector = NonNullable<PodDisruptionBudget["spec"]>["selector"];

/** Whether a label selector selects these labels. An empty one selects everything, a missing one nothing. */
export function selects(selector: Selector, labels: Readonly<Record<string, string>> = {}): boolean {
  if (selector === undefined) return false;
  const labelAt = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labelAt(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labelAt(key);
      if (operator === "In") return value !== undefined && values.includes(value);
      if (operator === "NotIn") return value === undefined || !values.includes(value);
      return (operator === "Exists") === (value !== undefined);
    })
  );
}
