import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** The operator runs its own image in the Job, and has not been told which that is. */
export const awaitImage: BackupRule = {
  name: "await-image",
  decide({ agentImage }) {
    if (agentImage !== undefined) return undefined;
    const because = "the operator does not know its own image, which takes backups; it must be given by --agent-image";
    return wait("await-image", because, 60_000, { warn: true });
  },
};
