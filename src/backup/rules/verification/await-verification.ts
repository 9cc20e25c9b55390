import type { BackupRule } from "#backup/step.ts";
import { verificationOf } from "#backup/verification.ts";
import { wait } from "#runtime/decide.ts";

/** The Job's events tell when it has ended; this is for events that never come, in milliseconds. */
const RECHECK_MS = 10_000;
/** The status that says so is written now, and its event wakes this room; in milliseconds. */
const TOLD_RECHECK_MS = 2_000;

/** The object is being verified, or was just now. What hinders that is told, and what was found. */
export const awaitVerification: BackupRule = {
  name: "await-verification",
  decide(snapshot) {
    const verification = verificationOf(snapshot);
    if (verification === undefined) return undefined;
    const { status, reason, message } = verification;
    if (status === "True") return wait("await-verification", message, TOLD_RECHECK_MS);
    if (status === "False")
      return wait("await-verification", `the object is not verified: ${reason}: ${message}`, TOLD_RECHECK_MS, {
        warn: true,
      });
    return wait("await-verification", message, RECHECK_MS, { warn: reason !== "Verifying" && reason !== "PodPending" });
  },
};
