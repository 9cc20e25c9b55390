import { hasEnded } from "#agent-job/job-state.ts";
import { BACKUP_LABEL, backupJobName, OBJECT_FINALIZER } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
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
import { deleteJob, deletePod, patchFinalizers, stored } from "#runtime/writes.ts";

/** Kubernetes calls with which this controller writes. */
export type BackupWrites = Pick<KubeClient, "get" | "list" | "create" | "replace" | "patch" | "delete">;

/** Executes one step: exactly one write, with its precondition. */
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
    case "createCheckJob":
      await needBackup(kube, snapshot, ({ status }) => status?.phase === "Completed", signal);
      return stored(JOBS, await kube.create(JOBS, step.job, { signal }));
    case "createDeletionJob":
      await needNobodyStoring(kube, snapshot, signal);
      await needDeletion(kube, snapshot, signal);
      return await createDeletionJob(kube, step.job, snapshot, signal);
    case "deleteJob":
      return await deleteJob(kube, step.job, signal);
    case "deletePod":
      return await deletePod(kube, step.pod, signal);
  }
}

/**
 * Maximum age of a young backup, in milliseconds: it was created just now, and its Job is created for the first time.
 */
const YOUNG_MS = 30_000;

/**
 * Refuses a create for an EtcdBackup that is gone or has ended: its object would be unknown to any EtcdBackup. A create
 * has no precondition that detects a stale cache, so this asks the API server. A young backup needs no request.
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

/**
 * Refuses the deletion Job unless the API server confirms it. The create cannot detect a stale cache, and a user may
 * just have annotated the EtcdBackup to keep its object.
 */
async function needDeletion(kube: BackupWrites, { backup }: BackupSnapshot, signal: AbortSignal) {
  const live = await liveOf(kube, ETCD_BACKUPS, backup, signal);
  if (live !== undefined && asksForDeletion({ backup: live }) && !mayKeepObject({ backup: live })) return;
  const message = `EtcdBackup ${backup.metadata.name} no longer asks for its object to be deleted`;
  throw outOfDate(ETCD_BACKUPS, backup.metadata, message);
}

/**
 * Refuses while a Job or pod that the cache does not show may still store: its object would never be deleted. A pod can
 * outlive its Job for a while. When the object may be kept, pods may store it.
 */
async function needNobodyStoring(kube: BackupWrites, snapshot: BackupSnapshot, signal: AbortSignal): Promise<void> {
  await needKnownJob(kube, snapshot, signal);
  if (mayKeepObject(snapshot)) return;
  const { namespace, name } = snapshot.backup.metadata;
  const { items } = await kube.list(PODS, { namespace, labelSelector: `${BACKUP_LABEL}=${name}` }, { signal });
  // Pods that verify or delete an object store nothing.
  const pod = items.find((each) => controllerOf(each)?.name === backupJobName(name) && !hasEnded(each));
  if (pod !== undefined)
    throw new OperatorError(
      "KubeConflict",
      `pod ${pod.metadata.name} may still be storing the object; the operator waits until it has ended or is deleted`,
    );
}

async function needKnownJob(kube: BackupWrites, snapshot: BackupSnapshot, signal: AbortSignal): Promise<void> {
  const { namespace, name } = snapshot.backup.metadata;
  if (snapshot.taking !== undefined) return;
  const query = { namespace, fieldSelector: `metadata.name=${backupJobName(name)}` };
  const { items } = await kube.list(JOBS, query, { signal });
  const unseen = items.find((job) => isOwned(snapshot, job) && job.metadata.deletionTimestamp === undefined);
  if (unseen !== undefined) throw notSeenYet(`Job ${unseen.metadata.name} exists and the cache does not show it yet`);
}

/**
 * Creates the deletion Job, or releases the EtcdBackup when its namespace is being deleted. There no Job can be
 * created, and the finalizer would block the namespace forever. Only one of the two writes succeeds.
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

/** Removes the operator's finalizer. When it was the last one, the EtcdBackup is deleted. */
async function releaseBackup(kube: BackupWrites, backup: EtcdBackup, signal: AbortSignal): Promise<Written> {
  const others = finalizersOf(backup).filter((each) => each !== OBJECT_FINALIZER);
  await patchFinalizers(kube, ETCD_BACKUPS, backup, others, signal);
  return { kind: "external" };
}

function finalizersOf({ metadata }: EtcdBackup): readonly string[] {
  return metadata.finalizers ?? [];
}
