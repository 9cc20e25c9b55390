import { BACKUP_LABEL, backupJobName, OBJECT_FINALIZER } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup, type EtcdBackupStatus } from "#api/v1beta1/backup.ts";
import { hasEnded } from "#backup/job-state.ts";
import {
  asksForDeletion,
  type BackupSnapshot,
  hasEnded as hasEndedBackup,
  isOwned,
  isToBeVerified,
  mayKeepObject,
} from "#backup/snapshot.ts";
import type { BackupStep } from "#backup/step.ts";
import { OperatorError } from "#base/error.ts";
import type { KubeClient } from "#kube/client.ts";
import { isNamespaceGoing } from "#kube/error.ts";
import { controllerOf, JOBS, PODS } from "#kube/kinds.ts";
import { liveOf } from "#kube/live.ts";
import { notSeenYet, outOfDate } from "#kube/out-of-date.ts";
import type { Written } from "#runtime/controller.ts";
import { deleteJob, patchFinalizers, stored } from "#runtime/writes.ts";

/** What this room writes to. */
export type BackupWrites = Pick<KubeClient, "get" | "list" | "create" | "replace" | "patch" | "delete">;

/** Does one step: exactly one write, with its precondition. */
export async function actOnBackup(
  kube: BackupWrites,
  step: BackupStep,
  snapshot: BackupSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  switch (step.do) {
    case "holdBackup":
      return await patchFinalizers(
        kube,
        ETCD_BACKUPS,
        snapshot.backup,
        [...finalizersOf(snapshot.backup), OBJECT_FINALIZER],
        signal,
      );
    case "releaseBackup":
      await needNobodyStoring(kube, snapshot, signal);
      return await releaseBackup(kube, snapshot.backup, signal);
    case "createJob":
      await needBackup(kube, snapshot, (live) => !hasEndedBackup({ backup: live }), signal);
      return stored(JOBS, await kube.create(JOBS, step.job, { signal }));
    case "createVerificationJob":
      await needBackup(kube, snapshot, (live) => isToBeVerified({ backup: live }), signal);
      return stored(JOBS, await kube.create(JOBS, step.job, { signal }));
    case "createDeletionJob":
      await needNobodyStoring(kube, snapshot, signal);
      await needDeletion(kube, snapshot, signal);
      return await createDeletionJob(kube, step.job, snapshot, signal);
    case "deleteJob":
      return await deleteJob(kube, step.job, signal);
  }
}

/** Writes the status of the object as it was read: whoever changed it since makes this a conflict. */
export async function writeStatus(
  kube: BackupWrites,
  snapshot: Pick<BackupSnapshot, "backup">,
  status: EtcdBackupStatus,
  signal: AbortSignal,
): Promise<Written> {
  const backup: EtcdBackup = { ...snapshot.backup, status };
  return stored(ETCD_BACKUPS, await kube.replace(ETCD_BACKUPS, backup, { signal, subresource: "status" }));
}

/** A backup younger than this, in milliseconds, was made just now, and its Job is made for the first time. */
const YOUNG_MS = 30_000;

/**
 * A create has no precondition that could tell that the cache is behind. What is made for a backup that is gone would store an object that
 * nobody asks for any more, and what is made for one that has ended nobody looks for. So the API server is asked first, except for a young backup, which costs no request.
 */
async function needBackup(
  kube: BackupWrites,
  { backup, takenAtMs }: BackupSnapshot,
  isWanted: (live: EtcdBackup) => boolean,
  signal: AbortSignal,
) {
  const { name, creationTimestamp } = backup.metadata;
  const ageMs = takenAtMs - Date.parse(creationTimestamp ?? "");
  if (ageMs >= -YOUNG_MS && ageMs < YOUNG_MS) return;
  const live = await liveOf(kube, ETCD_BACKUPS, backup, signal);
  if (live === undefined || live.metadata.deletionTimestamp !== undefined)
    throw outOfDate(ETCD_BACKUPS, backup.metadata, `EtcdBackup ${name} is gone`);
  if (!isWanted(live)) throw outOfDate(ETCD_BACKUPS, backup.metadata, `EtcdBackup ${name} has ended`);
}

/** What deletes the object is a Job, which does not tell that the cache of backups is behind: whoever has just said that the object stays is heard. */
async function needDeletion(kube: BackupWrites, { backup }: BackupSnapshot, signal: AbortSignal) {
  const live = await liveOf(kube, ETCD_BACKUPS, backup, signal);
  if (live !== undefined && asksForDeletion({ backup: live }) && !mayKeepObject({ backup: live })) return;
  const message = `EtcdBackup ${backup.metadata.name} asks no more for its object to be deleted`;
  throw outOfDate(ETCD_BACKUPS, backup.metadata, message);
}

/**
 * Nobody may be at work whom the cache does not show: a Job that was made, of which neither the answer nor the cache has told yet, or a pod that outlives
 * its Job for a while, would store what nobody asks for any more, and nobody deletes. Where the object may stay, it may be stored.
 */
async function needNobodyStoring(kube: BackupWrites, snapshot: BackupSnapshot, signal: AbortSignal): Promise<void> {
  await needKnownJob(kube, snapshot, signal);
  if (mayKeepObject(snapshot)) return;
  const { namespace, name } = snapshot.backup.metadata;
  const { items } = await kube.list(PODS, { namespace, labelSelector: `${BACKUP_LABEL}=${name}` }, { signal });
  // Who verifies an object, or deletes it, stores nothing.
  const pod = items.find((each) => controllerOf(each)?.name === backupJobName(name) && !hasEnded(each));
  if (pod !== undefined)
    throw new OperatorError(
      "KubeConflict",
      `pod ${pod.metadata.name} may still be storing; it is waited for until it has ended, or is deleted`,
    );
}

async function needKnownJob(kube: BackupWrites, snapshot: BackupSnapshot, signal: AbortSignal): Promise<void> {
  const { namespace, name } = snapshot.backup.metadata;
  if (snapshot.taking !== undefined) return;
  const query = { namespace, fieldSelector: `metadata.name=${backupJobName(name)}` };
  const { items } = await kube.list(JOBS, query, { signal });
  const unseen = items.find((job) => isOwned(snapshot, job) && job.metadata.deletionTimestamp === undefined);
  if (unseen !== undefined) throw notSeenYet(`Job ${unseen.metadata.name} is there`);
}

/**
 * In a namespace that is being deleted nothing can be made any more, so the object stays, and the EtcdBackup is let go: it would hold the
 * namespace up for ever. Of the two writes only one is ever carried out.
 */
async function createDeletionJob(
  kube: BackupWrites,
  job: Extract<BackupStep, { do: "createDeletionJob" }>["job"],
  { backup }: BackupSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  try {
    return stored(JOBS, await kube.create(JOBS, job, { signal }));
  } catch (thrown) {
    if (!isNamespaceGoing(thrown)) throw thrown;
    return await releaseBackup(kube, backup, signal);
  }
}

/** Takes our finalizer away, and if it was the last one, the backup goes: the answer is the backup as it was last. */
async function releaseBackup(kube: BackupWrites, backup: EtcdBackup, signal: AbortSignal): Promise<Written> {
  const others = finalizersOf(backup).filter((each) => each !== OBJECT_FINALIZER);
  await patchFinalizers(kube, ETCD_BACKUPS, backup, others, signal);
  return { kind: "external" };
}

function finalizersOf({ metadata }: EtcdBackup): readonly string[] {
  return metadata.finalizers ?? [];
}
