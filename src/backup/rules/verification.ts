import { stateOf } from "#agent-job/job-state.ts";
import { lackOfClaim } from "#backup/claim.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import { hasEnded, isOwned, isToBeVerified } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { targetOf } from "#backup/target.ts";
import { etcdImageOf, verificationOf } from "#backup/verification.ts";
import { step, wait } from "#runtime/decide.ts";

/** Ends the Job of a verification that was given up: its result is final. */
export const stopVerification: BackupRule = {
  name: "stop-verification",
  decide(snapshot) {
    const { verifying } = snapshot;
    if (verifying === undefined || !isOwned(snapshot, verifying.job)) return undefined;
    if (!hasEnded(snapshot) || isToBeVerified(snapshot)) return undefined;
    const { job } = verifying;
    if (stateOf(job) !== "active" || job.metadata.deletionTimestamp !== undefined) return undefined;
    return step(`the verification was given up; Job ${job.metadata.name} is deleted`, {
      do: "deleteJob",
      job,
    });
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

/** Recheck interval in case events are lost, in milliseconds; Jobs have events of their own. */
const AWAIT_VERIFICATION_RECHECK_MS = 10_000;
/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const TOLD_RECHECK_MS = 2_000;

/** Waits for the verification, and shows what prevents it, or its result. */
export const awaitVerification: BackupRule = {
  name: "await-verification",
  decide(snapshot) {
    const verification = verificationOf(snapshot);
    if (verification === undefined) return undefined;
    const { status, reason, message } = verification;
    if (status === "True") return wait(message, TOLD_RECHECK_MS);
    if (status === "False")
      return wait(`the object failed its verification: ${reason}: ${message}`, TOLD_RECHECK_MS, {
        warn: true,
      });
    return wait(message, AWAIT_VERIFICATION_RECHECK_MS, {
      warn: reason !== "Verifying" && reason !== "PodPending",
    });
  },
};
