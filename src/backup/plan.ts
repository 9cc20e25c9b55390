import { BACKUP_GUARDS } from "#backup/guards.ts";
import { awaitDeletion } from "#backup/rules/deletion/await-deletion.ts";
import { deleteObject } from "#backup/rules/deletion/delete-object.ts";
import { deleting } from "#backup/rules/deletion/deleting.ts";
import { releaseBackup } from "#backup/rules/deletion/release-backup.ts";
import { retryDeletion } from "#backup/rules/deletion/retry-deletion.ts";
import { stopBackup } from "#backup/rules/deletion/stop-backup.ts";
import { stopDeletion } from "#backup/rules/deletion/stop-deletion.ts";
import { awaitImage } from "#backup/rules/job/await-image.ts";
import { awaitJob } from "#backup/rules/job/await-job.ts";
import { createJob } from "#backup/rules/job/create-job.ts";
import { holdBackup } from "#backup/rules/job/hold-backup.ts";
import { jobTaken } from "#backup/rules/job/job-taken.ts";
import { renewJob } from "#backup/rules/job/renew-job.ts";
import { backupCompleted } from "#backup/rules/life/backup-completed.ts";
import { backupFailed } from "#backup/rules/life/backup-failed.ts";
import { ended } from "#backup/rules/life/ended.ts";
import { stopJob } from "#backup/rules/life/stop-job.ts";
import { awaitClaim } from "#backup/rules/source/await-claim.ts";
import { awaitSource } from "#backup/rules/source/await-source.ts";
import { awaitVerification } from "#backup/rules/verification/await-verification.ts";
import { stopVerification } from "#backup/rules/verification/stop-verification.ts";
import { verifyObject } from "#backup/rules/verification/verify-object.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { BackupRule, BackupStep } from "#backup/step.ts";
import { decide, type Plan, type Resting } from "#runtime/decide.ts";

/** Rules of a backup. The first rule that decides wins, so the order is part of each rule. */
export const BACKUP_RULES: readonly BackupRule[] = [
  stopBackup, // Before the object and the EtcdBackup are deleted.
  stopDeletion, // Before the EtcdBackup is deleted: its Job must not delete anything afterwards.
  releaseBackup, // Before `deleteObject`: there may be nothing to delete.
  retryDeletion, // Before the next Job of this name is created.
  deleteObject,
  awaitDeletion, // After everything that deletes the object.
  deleting, // Before everything that creates: nothing is created for an EtcdBackup that is being deleted.
  stopJob, // Before `ended`.
  stopVerification, // Before `ended`, too.
  verifyObject, // Before `awaitVerification`, which waits for the Job that this rule creates.
  awaitVerification, // Before `ended`: the status still gets the result of the verification.
  ended, // Before everything that starts work.
  backupCompleted,
  backupFailed, // Before every wait: a failed backup waits for nothing.
  jobTaken, // Before the Job is created.
  awaitSource, // Before anything is created for the backup.
  awaitClaim, // Before the Job: its pod mounts the claim.
  awaitImage, // Before the Job that runs the image.
  holdBackup, // Before the Job: an object needs the finalizer to be deleted later.
  createJob,
  renewJob, // Before the wait for the Job.
  awaitJob, // Last: the Job is running.
];

/** Decides what to do about this snapshot. Pure and total. */
export function planBackup(snapshot: BackupSnapshot, resting?: Resting<BackupStep>): Plan<BackupStep> {
  return decide(BACKUP_RULES, BACKUP_GUARDS, snapshot, resting);
}
