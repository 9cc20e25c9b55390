import { pausedText } from "#cluster/rules/life/paused.ts";
import { NO_EDIT_WAITS, wasCarriedOut } from "./carried-out.ts";
import { ready } from "./ready.ts";
import type { Case, Verdict } from "./verdict.ts";

/** Has a person asked the operator to change nothing? It is told while that lasts, and afterwards that it is over; besides, whether an edit may wait for its end. */
export function paused(given: Case): Verdict | undefined {
  const { snapshot } = given;
  const message = pausedText(snapshot);
  if (message !== undefined) {
    const isDone = wasCarriedOut(snapshot) || ready(given).status === "True";
    return { status: "True", reason: isDone ? NO_EDIT_WAITS : "Paused", message };
  }
  const toldBefore = snapshot.cluster.status?.conditions?.some(({ type }) => type === "Paused") ?? false;
  return toldBefore ? { status: "False", reason: "NotPaused", message: "the operator acts" } : undefined;
}
