import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** Waits for the flag --agent-image: the Job runs the operator's own image. */
export const awaitImage: BackupRule = {
  name: "await-image",
  decide({ agentImage }) {
    if (agentImage !== undefined) return undefined;
    const because = "the operator does not know its own image, which the Job runs: set --agent-image";
    return wait("await-image", because, 60_000, { warn: true });
  },
};
