import { isWaking, wakingText } from "#cluster/sleep.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Members that start are asked how they are this often, in milliseconds. */
const RECHECK_MS = 1_000;

/** Who has slept is waited for before anybody comes or goes: one that is slower than the others is not lost. */
export const awaitWaking: ClusterRule = {
  name: "await-waking",
  decide(snapshot) {
    return isWaking(snapshot) ? wait("await-waking", wakingText(snapshot), RECHECK_MS) : undefined;
  },
};
