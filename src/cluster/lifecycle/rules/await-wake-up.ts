import { isWaking, wakingText } from "#cluster/lifecycle/sleep.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval while members start, in milliseconds. */
const RECHECK_MS = 1_000;

/**
 * Waits for members that wake up before the membership changes: a member that is slower than the others is not lost.
 */
export const awaitWakeUp: ClusterRule = {
  name: "await-wake-up",
  decide(snapshot) {
    return isWaking(snapshot) ? wait(wakingText(snapshot), RECHECK_MS) : undefined;
  },
};
