import { missingRightText } from "#certificates/missing-right.ts";
import { wait } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** Recheck in milliseconds: normally the API server is back within seconds. */
const RECHECK_MS = 10_000;

/** Reports not ready while the binding Secret could not be read. */
export const awaitBinding: UserRule = {
  name: "await-binding",
  decide({ binding }) {
    if (binding.is !== "unknown") return undefined;
    const right = missingRightText(binding.why);
    const because = right ?? `the binding Secret could not be read: ${binding.why}`;
    return wait("await-binding", because, RECHECK_MS, { warn: right !== undefined });
  },
};
