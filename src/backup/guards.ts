import { stateOf } from "#agent-job/job-state.ts";
import { lackOfClaim } from "#backup/claim.ts";
import { storingPods } from "#backup/pods.ts";
import {
  asksForDeletion,
  hasEnded,
  isDeleting,
  isHeld,
  isOwned,
  isToBeVerified,
  mayKeepObject,
} from "#backup/snapshot.ts";
import type { BackupGuard, BackupStep } from "#backup/step.ts";
import { controllerOf } from "#kube/kinds.ts";

/** What the Job created by a kind of step does with the object. A kind that is missing here does not compile. */
const JOB = {
  holdBackup: "none",
  releaseBackup: "none",
  createJob: "stores",
  createVerificationJob: "reads",
  createCheckJob: "checks",
  createDeletionJob: "deletes",
  deleteJob: "none",
  deletePod: "none",
} as const satisfies Record<BackupStep["do"], string>;

/** Refuses to delete a Job of another owner, or its pod. */
const ownOnly: BackupGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (step.do === "deletePod") {
      const jobs = [snapshot.taking, snapshot.verifying, snapshot.checking, snapshot.removing].flatMap(
        (each) => each?.job ?? [],
      );
      const job = jobs.find(({ metadata }) => metadata.uid === controllerOf(step.pod)?.uid);
      if (job !== undefined && isOwned(snapshot, job)) return undefined;
      return `pod ${step.pod.metadata.name} does not belong to a Job of this backup`;
    }
    if (step.do !== "deleteJob" || isOwned(snapshot, step.job)) return undefined;
    return `Job ${step.job.metadata.name} does not belong to this backup`;
  },
};

/**
 * Refuses to take a snapshot for a backup that has ended or is being deleted: no EtcdBackup would refer to its object.
 */
const onceOnly: BackupGuard = {
  name: "once-only",
  forbids(snapshot, step) {
    if (JOB[step.do] !== "stores") return undefined;
    if (hasEnded(snapshot)) return "the backup has ended";
    return isDeleting(snapshot) ? "the backup is being deleted" : undefined;
  },
};

/** Refuses to store an object with policy Delete before the finalizer is set. */
const heldFirst: BackupGuard = {
  name: "held-first",
  forbids(snapshot, step) {
    if (JOB[step.do] !== "stores" || snapshot.backup.spec.deletionPolicy !== "Delete" || isHeld(snapshot))
      return undefined;
    return "the EtcdBackup has no finalizer yet: nothing would delete the object after it";
  },
};

/**
 * Refuses to delete an object unless its EtcdBackup is being deleted and asks for it. The EtcdBackup must not be
 * annotated to keep it, and no pod may still be able to store it.
 */
const askedToDelete: BackupGuard = {
  name: "asked-to-delete",
  forbids(snapshot, step) {
    if (JOB[step.do] !== "deletes") return undefined;
    const isAsked = asksForDeletion(snapshot) && isDeleting(snapshot) && !mayKeepObject(snapshot);
    if (!isAsked) return "the EtcdBackup does not ask for its object to be deleted";
    const { taking } = snapshot;
    const isTaking = taking !== undefined && isOwned(snapshot, taking.job) && stateOf(taking) === "active";
    return isTaking || storingPods(snapshot).length > 0 ? "a pod may still store it" : undefined;
  },
};

/** Allows verification only if the object exists, spec.verification.mode is Restore, and there is no result yet: a result is final. */
const askedToVerify: BackupGuard = {
  name: "asked-to-verify",
  forbids(snapshot, step) {
    if (JOB[step.do] !== "reads") return undefined;
    if (isDeleting(snapshot)) return "the backup is being deleted";
    return isToBeVerified(snapshot)
      ? undefined
      : "spec.verification.mode is not Restore, or the object was verified before";
  },
};

/** Allows the daily check only of a stored object, for an EtcdBackup that is not being deleted. */
const storedToCheck: BackupGuard = {
  name: "stored-to-check",
  forbids(snapshot, step) {
    if (JOB[step.do] !== "checks") return undefined;
    if (isDeleting(snapshot)) return "the backup is being deleted";
    return snapshot.backup.status?.phase === "Completed" ? undefined : "no object is stored";
  },
};

/**
 * Refuses pods on a claim that is a member's, or is not labelled as a backup destination: mounting alone changes its
 * files.
 */
const claimConsents: BackupGuard = {
  name: "claim-consents",
  forbids(snapshot, step) {
    return JOB[step.do] === "none" ? undefined : lackOfClaim(snapshot)?.message;
  },
};

/** Invariants of a backup. Each can refuse a step of any rule. */
export const BACKUP_GUARDS: readonly BackupGuard[] = [
  ownOnly,
  onceOnly,
  heldFirst,
  askedToDelete,
  askedToVerify,
  storedToCheck,
  claimConsents,
];
