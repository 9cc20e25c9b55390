import { pausedText } from "#cluster/lifecycle/pause.ts";
import { NO_EDIT_WAITS, wasCarriedOut } from "#cluster/readiness/carried-out.ts";
import { ready } from "#cluster/readiness/ready.ts";
import type { Case, Verdict } from "#cluster/readiness/verdict.ts";

/**
 * Condition Paused: whether a person has paused reconciliation. Absent until that has happened. Its reason also records
 * whether an edit waits for the end of the pause.
 */
export function paused(input: Case): Verdict | undefined {
  const { snapshot } = input;
  const message = pausedText(snapshot);
  if (message !== undefined) {
    const isDone = wasCarriedOut(snapshot) || ready(input).status === "True";
    return { status: "True", reason: isDone ? NO_EDIT_WAITS : "Paused", message };
  }
  const wasReported = snapshot.cluster.status?.conditions?.some(({ type }) => type === "Paused") ?? false;
  return wasReported ? { status: "False", reason: "NotPaused", message: "the operator acts" } : undefined;
}
