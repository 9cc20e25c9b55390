import type { BackupRule } from "#backup/step.ts";
import { verdictOf } from "#backup/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Interval of requests to the agent for its progress, and to Kubernetes for warnings, in milliseconds. */
const RECHECK_MS = 10_000;

/** Waits for the Job, and shows the agent's progress or what keeps its pod from running. */
export const awaitJob: BackupRule = {
  name: "await-job",
  decide(snapshot) {
    if (snapshot.taking === undefined) return undefined;
    const { reason, message } = verdictOf(snapshot);
    const isTrouble = ["PodRefused", "SecretMissing", "ImageUnavailable", "Retrying"].includes(reason);
    return wait("await-job", message, RECHECK_MS, { warn: isTrouble });
  },
};
