import { endJobOf } from "#agent-job/endings.ts";
import { provesDefect } from "#api/defect.ts";
import { lackOfClaim } from "#backup/claim.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import { hasEnded, isToBeVerified, ownOf } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { targetOf } from "#backup/target.ts";
import { etcdImageOf, nextAttemptMs, verificationOf, verifiedUntilMs } from "#backup/verification.ts";
import { step, wait } from "#runtime/decide.ts";

/** Ends the Job of a verification that has ended: its result is final. */
export const stopVerification: BackupRule = {
  name: "stop-verification",
  decide(snapshot) {
    if (!hasEnded(snapshot) || isToBeVerified(snapshot)) return undefined;
    return endJobOf([ownOf(snapshot, snapshot.verifying)], "the verification has ended");
  },
};

/**
 * Creates the Job that verifies a stored object when `spec.verification.mode` is Restore: it restores the object to a throw-away etcd
 * and compares its data.
 */
export const verifyObject: BackupRule = {
  name: "verify-object",
  decide(snapshot) {
    const { verifying, agentImage } = snapshot;
    if (!isToBeVerified(snapshot) || verifying !== undefined || agentImage === undefined) return undefined;
    const [target, etcd] = [targetOf(snapshot), etcdImageOf(snapshot)];
    if (typeof target === "string" || etcd === undefined || lackOfClaim(snapshot) !== undefined) return undefined;
    const job = verificationJob(snapshot, target, agentImage, etcd);
    return step(`spec.verification.mode is Restore: ${target.url} is restored to a throw-away etcd and compared`, {
      do: "createVerificationJob",
      job,
    });
  },
};

/** Replaces the failed Job of a verification that proved nothing, after a pause that grows. */
export const retryVerification: BackupRule = {
  name: "retry-verification",
  decide(snapshot) {
    const { verifying, takenAtMs } = snapshot;
    const nextMs = nextAttemptMs(snapshot);
    if (verifying === undefined || nextMs === undefined || takenAtMs < nextMs) return undefined;
    if (verificationOf(snapshot)?.status !== "Unknown") return undefined;
    const { job } = verifying;
    if (job.metadata.deletionTimestamp !== undefined) return undefined;
    return step(`the verification could not run and is tried again; failed Job ${job.metadata.name} is deleted`, {
      do: "deleteJob",
      job,
    });
  },
};

/** Recheck interval in case events are lost, in milliseconds; Jobs have events of their own. */
const AWAIT_VERIFICATION_RECHECK_MS = 10_000;
/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RESULT_RECHECK_MS = 2_000;

const WRONG = "the object failed its verification";
const UNKNOWN = "the object could not be verified";

/** Waits for the verification, and shows what prevents it, or its result. */
export const awaitVerification: BackupRule = {
  name: "await-verification",
  decide(snapshot) {
    const verification = verificationOf(snapshot);
    if (verification === undefined) return undefined;
    const { status, reason, message } = verification;
    if (status === "True") return wait(message, RESULT_RECHECK_MS);
    if (status === "False")
      return wait(`${provesDefect(reason) ? WRONG : UNKNOWN}: ${reason}: ${message}`, RESULT_RECHECK_MS, {
        warn: true,
      });
    const nextMs = nextAttemptMs(snapshot);
    const dueMs = nextMs === undefined ? snapshot.takenAtMs : Math.min(nextMs, verifiedUntilMs(snapshot));
    return wait(message, Math.max(AWAIT_VERIFICATION_RECHECK_MS, dueMs - snapshot.takenAtMs), {
      warn: reason !== "Verifying" && reason !== "PodPending",
    });
  },
};
