import type { BackupRule } from "#backup/step.ts";
import { verificationOf } from "#backup/verification.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval in case events are lost, in milliseconds; Jobs have events of their own. */
const RECHECK_MS = 10_000;
/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const TOLD_RECHECK_MS = 2_000;

/** Waits for the verification, and shows what prevents it, or its result. */
export const awaitVerification: BackupRule = {
  name: "await-verification",
  decide(snapshot) {
    const verification = verificationOf(snapshot);
    if (verification === undefined) return undefined;
    const { status, reason, message } = verification;
    if (status === "True") return wait("await-verification", message, TOLD_RECHECK_MS);
    if (status === "False")
      return wait("await-verification", `the object failed its verification: ${reason}: ${message}`, TOLD_RECHECK_MS, {
        warn: true,
      });
    return wait("await-verification", message, RECHECK_MS, { warn: reason !== "Verifying" && reason !== "PodPending" });
  },
};
