import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval for Kubernetes' warning events, in milliseconds; Jobs and pods have events of their own. */
const RECHECK_MS = 10_000;

/** Waits for the Jobs, and shows what keeps their pods from running. */
export const awaitClaims: RestoreRule = {
  name: "await-claims",
  decide(snapshot) {
    if (isComplete(snapshot)) return undefined;
    const { reason, message } = verdictOf(snapshot);
    const isTrouble = ["PodRefused", "SecretMissing", "ImageUnavailable", "Retrying"].includes(reason);
    return wait("await-claims", message, RECHECK_MS, { warn: isTrouble });
  },
};
