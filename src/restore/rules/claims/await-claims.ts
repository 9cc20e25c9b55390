import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Events of Jobs and pods tell when they go on; this is for what Kubernetes warns of, in milliseconds. */
const RECHECK_MS = 10_000;

/** The Jobs are at work, or wait for something: what hinders their pods is told. */
export const awaitClaims: RestoreRule = {
  name: "await-claims",
  decide(snapshot) {
    if (isComplete(snapshot)) return undefined;
    const { reason, message } = verdictOf(snapshot);
    const isTrouble = ["PodRefused", "SecretMissing", "ImageUnavailable", "Retrying"].includes(reason);
    return wait("await-claims", message, RECHECK_MS, { warn: isTrouble });
  },
};
