import type { BackupRule } from "#backup/step.ts";
import { verdictOf } from "#backup/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** How often the agent is asked how far it is, and Kubernetes what hinders it, in milliseconds. */
const RECHECK_MS = 10_000;

/** The Job is at work, or waits for something: its agent is asked how far it is, and what hinders its pod is told. */
export const awaitJob: BackupRule = {
  name: "await-job",
  decide(snapshot) {
    if (snapshot.taking === undefined) return undefined;
    const { reason, message } = verdictOf(snapshot);
    const isTrouble = ["PodRefused", "SecretMissing", "ImageUnavailable", "Retrying"].includes(reason);
    return wait("await-job", message, RECHECK_MS, { warn: isTrouble });
  },
};
