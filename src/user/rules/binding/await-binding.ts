import { wait } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** In milliseconds: the API server is away, and comes back. */
const RECHECK_MS = 10_000;

/** Nothing is called ready while the binding Secret could not be read. */
export const awaitBinding: UserRule = {
  name: "await-binding",
  decide({ binding }) {
    return binding.is === "unknown"
      ? wait("await-binding", `the binding Secret could not be read: ${binding.why}`, RECHECK_MS)
      : undefined;
  },
};
