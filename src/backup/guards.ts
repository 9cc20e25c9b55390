import { lackOfClaim } from "#backup/claim.ts";
import { stateOf, storingPods } from "#backup/job-state.ts";
import {
  asksForDeletion,
  hasEnded,
  isDeleting,
  isHeld,
  isOwned,
  isToBeVerified,
  mayKeepObject,
} from "#backup/snapshot.ts";
import type { BackupGuard } from "#backup/step.ts";

/** A Job of somebody else is never ended. */
const ownOnly: BackupGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (step.do !== "deleteJob" || isOwned(snapshot, step.job)) return undefined;
    return `Job ${step.job.metadata.name} is not this backup's`;
  },
};

/** No snapshot is taken for a backup that has ended or is being deleted: what it would store, nobody would look for. */
const onceOnly: BackupGuard = {
  name: "once-only",
  forbids(snapshot, step) {
    if (step.do !== "createJob") return undefined;
    if (hasEnded(snapshot)) return "the backup has ended";
    return isDeleting(snapshot) ? "the backup is being deleted" : undefined;
  },
};

/** No object is stored that is to be deleted with its EtcdBackup, before the EtcdBackup is kept until that is done. */
const heldFirst: BackupGuard = {
  name: "held-first",
  forbids(snapshot, step) {
    if (step.do !== "createJob" || snapshot.backup.spec.objectPolicy !== "Delete" || isHeld(snapshot)) return undefined;
    return "nothing would delete the object when the EtcdBackup goes";
  },
};

/** An object is deleted only if its EtcdBackup asks for it, is being deleted, and nobody has said that it may stay; and nobody stores it any more. */
const askedToDelete: BackupGuard = {
  name: "asked-to-delete",
  forbids(snapshot, step) {
    if (step.do !== "createDeletionJob") return undefined;
    const isAsked = asksForDeletion(snapshot) && isDeleting(snapshot) && !mayKeepObject(snapshot);
    if (!isAsked) return "nobody asked for the object to be deleted";
    const { taking } = snapshot;
    const isTaking = taking !== undefined && isOwned(snapshot, taking.job) && stateOf(taking.job) === "active";
    return isTaking || storingPods(snapshot).length > 0 ? "a pod may still store it" : undefined;
  },
};

/** Only an object that is there is verified, only on demand, and once: the verdict is for ever. */
const askedToVerify: BackupGuard = {
  name: "asked-to-verify",
  forbids(snapshot, step) {
    if (step.do !== "createVerificationJob") return undefined;
    if (isDeleting(snapshot)) return "the backup is being deleted";
    return isToBeVerified(snapshot) ? undefined : "nobody asked for the object to be verified, or it was before";
  },
};

/** No pod mounts a claim that is a member's, or whose owner has not said that backups may lie there: mounting alone changes what is on it. */
const claimConsents: BackupGuard = {
  name: "claim-consents",
  forbids(snapshot, step) {
    const isMounting = ["createJob", "createVerificationJob", "createDeletionJob"].includes(step.do);
    return isMounting ? lackOfClaim(snapshot)?.message : undefined;
  },
};

/** These are the invariants of a backup. Each may hold back a step of any rule. */
export const BACKUP_GUARDS: readonly BackupGuard[] = [
  ownOnly,
  onceOnly,
  heldFirst,
  askedToDelete,
  askedToVerify,
  claimConsents,
];
