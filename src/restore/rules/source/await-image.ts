import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { wait } from "#runtime/decide.ts";

/** The operator runs its own image in the Jobs, and has not been told which that is. */
export const awaitImage: RestoreRule = {
  name: "await-image",
  decide(snapshot) {
    if (snapshot.agentImage !== undefined || isComplete(snapshot)) return undefined;
    const because = "the operator does not know its own image, which restores; it must be given by --agent-image";
    return wait("await-image", because, 60_000, { warn: true });
  },
};
