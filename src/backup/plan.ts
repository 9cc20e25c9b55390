import { BACKUP_GUARDS } from "#backup/guards.ts";
import {
  awaitDeletion,
  deleteObject,
  deleting,
  releaseBackup,
  retryDeletion,
  stopBackup,
  stopDeletion,
} from "#backup/rules/deletion.ts";
import { awaitImage, awaitJob, awaitTurn, createJob, holdBackup, jobTaken, renewJob } from "#backup/rules/job.ts";
import { backupCompleted, backupFailed, clearJobs, ended, endPod, stopJob } from "#backup/rules/life.ts";
import { checkObject, clearCheck, recordCheck } from "#backup/rules/object-check.ts";
import { awaitClaim, awaitSource } from "#backup/rules/source.ts";
import { awaitVerification, retryVerification, stopVerification, verifyObject } from "#backup/rules/verification.ts";
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
  endPod, // Before every wait for a Job: the Job waits for the end of its pod.
  awaitDeletion, // After everything that deletes the object.
  deleting, // Before everything that creates: nothing is created for an EtcdBackup that is being deleted.
  stopJob, // Before `ended`.
  stopVerification, // Before `ended`, too.
  retryVerification, // Before `awaitVerification`.
  verifyObject, // Before `awaitVerification`, which waits for the Job that this rule creates.
  checkObject, // Before `awaitVerification`, which may wait for a day.
  recordCheck, // Before the Job is deleted.
  clearCheck, // Before `awaitVerification`: the Job must not stay for a day.
  awaitVerification, // Before `ended`: the status still gets the result of the verification.
  clearJobs, // Before `ended`, which leaves the backup alone.
  ended, // Before everything that starts work.
  backupCompleted,
  backupFailed, // Before every wait: a failed backup waits for nothing.
  jobTaken, // Before the Job is created.
  awaitSource, // Before anything is created for the backup.
  awaitClaim, // Before the Job: its pod mounts the claim.
  awaitImage, // Before the Job that runs the image.
  holdBackup, // Before the Job: an object needs the finalizer to be deleted later.
  awaitTurn, // Last before the Job: a backup that cannot start anyway waits for what it lacks.
  createJob,
  renewJob, // Before the wait for the Job.
  awaitJob, // Last: the Job is running.
];

/** Decides what to do about this snapshot. Pure and total. */
export function planBackup(snapshot: BackupSnapshot, resting?: Resting<BackupStep>): Plan<BackupStep> {
  return decide(BACKUP_RULES, BACKUP_GUARDS, snapshot, resting);
}
