import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { wait } from "#runtime/decide.ts";

/** Waits for the flag --agent-image: the Jobs run the operator's own image. */
export const awaitImage: RestoreRule = {
  name: "await-image",
  decide(snapshot) {
    if (snapshot.agentImage !== undefined || isComplete(snapshot)) return undefined;
    const because = "the operator does not know its own image, which the Jobs run: set --agent-image";
    return wait("await-image", because, 60_000, { warn: true });
  },
};
