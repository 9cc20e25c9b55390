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

/** This list is the behaviour of a backup: the first rule with an opinion wins, so its place here is part of each rule. */
export const BACKUP_RULES: readonly BackupRule[] = [
  stopBackup, // It comes before the object is deleted, and before the EtcdBackup goes.
  stopDeletion, // It comes before the EtcdBackup goes: nothing is deleted behind anybody's back.
  releaseBackup, // It comes before a Job is made that has nothing to delete.
  retryDeletion, // It comes before the next Job of this name.
  deleteObject,
  awaitDeletion, // It comes after all that is done for the deletion.
  deleting, // It comes before all that is made: nothing is made for an EtcdBackup that is being deleted.
  stopJob, // It comes before the end.
  stopVerification, // It comes before the end, too.
  verifyObject, // It comes before what waits for its Job.
  awaitVerification, // It comes before the end: a backup that is to be verified has more to tell.
  ended, // It comes before all that begins anything.
  backupCompleted,
  backupFailed, // It comes before all that waits: what has failed waits for nothing.
  jobTaken, // It comes before our own Job is made.
  awaitSource, // It comes before anything of the backup is made.
  awaitClaim, // It comes before the Job whose pod mounts the claim.
  awaitImage, // It comes before the Job that runs it.
  holdBackup, // It comes before the Job: nothing is stored that nobody would delete.
  createJob,
  renewJob, // It comes before what waits for the Job.
  awaitJob, // It comes last: the Job is at work.
];

/** What is to be done about this snapshot. Pure and total. */
export function planBackup(snapshot: BackupSnapshot, resting?: Resting<BackupStep>): Plan<BackupStep> {
  return decide(BACKUP_RULES, BACKUP_GUARDS, snapshot, resting);
}
