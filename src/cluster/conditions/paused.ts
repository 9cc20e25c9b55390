import { pausedText } from "#cluster/rules/life/paused.ts";
import type { Case, Verdict } from "./verdict.ts";

/** Has a person asked the operator to change nothing? It is told while that lasts, and afterwards that it is over. */
export function paused({ snapshot }: Pick<Case, "snapshot">): Verdict | undefined {
  const message = pausedText(snapshot);
  if (message !== undefined) return { status: "True", reason: "Paused", message };
  const toldBefore = snapshot.cluster.status?.conditions?.some(({ type }) => type === "Paused") ?? false;
  return toldBefore ? { status: "False", reason: "NotPaused", message: "the operator acts" } : undefined;
}
