import type { Reason } from "#api/conditions.ts";
import { upToDate } from "#cluster/update/up-to-date.ts";
import { blocked } from "./hindrance.ts";
import type { Case, Verdict } from "./verdict.ts";

/**
 * Reasons that only a person can end. A missing Secret or a taken name may end by itself. Tools give up on a stalled
 * object, so these are not listed.
 */
const STALLING: readonly Reason[] = ["SpecRefused", "NoVersionPath", "UpdateStopped", "BackupFailed", "RestoreFailed"];

/** Condition Stalled: whether the operator can go on only after a person has acted. */
export function stalled(input: Pick<Case, "plan" | "snapshot" | "own">): Verdict {
  const found = [blocked(input), upToDate(input)].find((each) => each !== undefined && STALLING.includes(each.reason));
  if (found !== undefined) return { status: "True", reason: found.reason, message: found.message };
  return { status: "False", reason: "NotStalled", message: "nothing is refused, stopped or failed for ever" };
}
