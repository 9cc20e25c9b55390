import { DELETE_OBJECT_ANNOTATION, OBJECT_FINALIZER } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES, type EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { OperatorError } from "#base/error.ts";
import type { KubeClient } from "#kube/client.ts";
import { liveOf } from "#kube/live.ts";
import { outOfDate } from "#kube/out-of-date.ts";
import type { Written } from "#runtime/controller.ts";
import { patchMetadata, stored } from "#runtime/writes.ts";
import { beginningOf, isReading, isSettled, type ScheduleSnapshot } from "#schedule/snapshot.ts";
import type { ScheduleStep } from "#schedule/step.ts";

/** Kubernetes calls with which this controller writes. */
export type ScheduleWrites = Pick<KubeClient, "get" | "list" | "create" | "replace" | "patch" | "delete">;

/** Executes one step: exactly one write, with its precondition. */
export async function actOnSchedule(
  kube: ScheduleWrites,
  step: ScheduleStep,
  { schedule }: ScheduleSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  switch (step.do) {
    case "createBackup":
      needNoOtherRun(schedule, await needSchedule(kube, schedule, signal));
      return stored(ETCD_BACKUPS, await kube.create(ETCD_BACKUPS, step.backup, { signal }));
    case "deleteBackup":
      await needSchedule(kube, schedule, signal);
      await needKeepers(kube, step.keepers, signal);
      await needNoRestore(kube, step.backup, signal);
      await needNoBeginner(kube, step.backup, signal);
      return await deleteBackup(kube, step.backup, signal);
    case "giveObject":
      await needSchedule(kube, schedule, signal);
      await needKeepers(kube, step.keepers, signal);
      await needNoRestore(kube, step.backup, signal);
      return await markBackup(kube, step.backup, true, signal);
    case "keepObject":
      return await markBackup(kube, step.backup, false, signal);
  }
}

/**
 * Refuses when the schedule has changed: a write to an EtcdBackup cannot detect a stale cache of schedules. A user may
 * just have suspended or deleted the schedule, or raised its retention.
 */
async function needSchedule(kube: ScheduleWrites, schedule: EtcdBackupSchedule, signal: AbortSignal) {
  const { metadata } = schedule;
  const live = await liveOf(kube, ETCD_BACKUP_SCHEDULES, schedule, signal);
  const isSame = live?.metadata.generation === metadata.generation && live?.metadata.deletionTimestamp === undefined;
  if (live !== undefined && isSame) return live;
  throw outOfDate(ETCD_BACKUP_SCHEDULES, metadata, `EtcdBackupSchedule ${metadata.name} has changed`);
}

/**
 * Refuses when the API server records a later run. Only the status knows runs without an EtcdBackup, and a former
 * leader may have just written it.
 */
function needNoOtherRun({ metadata, status }: EtcdBackupSchedule, live: EtcdBackupSchedule) {
  const time = live.status?.lastScheduleTime;
  if (time === status?.lastScheduleTime) return;
  throw outOfDate(
    ETCD_BACKUP_SCHEDULES,
    metadata,
    `the latest run of EtcdBackupSchedule ${metadata.name} is that of ${time}`,
  );
}

/** Refuses when a good backup that replaces the deleted one is itself being deleted. */
async function needKeepers(kube: ScheduleWrites, keepers: readonly EtcdBackup[], signal: AbortSignal) {
  for (const keeper of keepers) {
    const live = await liveOf(kube, ETCD_BACKUPS, keeper, signal);
    if (live !== undefined && isSettled(live)) continue;
    throw outOfDate(ETCD_BACKUPS, keeper.metadata, `EtcdBackup ${keeper.metadata.name} is being deleted`);
  }
}

/** Refuses when an EtcdRestore that the cache may not show reads the backup. */
async function needNoRestore(kube: ScheduleWrites, { metadata, status }: EtcdBackup, signal: AbortSignal) {
  if (status?.phase !== "Completed") return;
  const { namespace, name } = metadata;
  const { items } = await kube.list(ETCD_RESTORES, { namespace }, { signal });
  const reader = items.find((restore) => restore.spec.source.backupName === name && isReading(restore));
  if (reader !== undefined)
    throw new OperatorError("KubeConflict", `EtcdRestore ${reader.metadata.name} reads EtcdBackup ${name}`);
}

/**
 * Refuses when an EtcdCluster will begin with the backup. A list of EtcdClusters is large, so it is requested only
 * before a deletion, which is final.
 */
async function needNoBeginner(kube: ScheduleWrites, { metadata, status }: EtcdBackup, signal: AbortSignal) {
  if (status?.phase !== "Completed") return;
  const { namespace, name } = metadata;
  const clusters = await kube.list(ETCD_CLUSTERS, { namespace }, { signal });
  const beginner = clusters.items.find((cluster) => beginningOf(cluster) === name);
  if (beginner === undefined) return;
  throw new OperatorError("KubeConflict", `EtcdCluster ${beginner.metadata.name} will begin with EtcdBackup ${name}`);
}

/**
 * Deletes the backup; preconditions are its uid and observed resourceVersion, so that an annotation to keep it is
 * respected.
 */
async function deleteBackup(kube: ScheduleWrites, { metadata }: EtcdBackup, signal: AbortSignal): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const preconditions = { uid, resourceVersion };
  await kube.delete(ETCD_BACKUPS, { namespace, name }, { signal, preconditions, propagation: "Background" });
  return { kind: "external" };
}

/**
 * Patches the backup; preconditions are its uid and observed resourceVersion. The finalizer keeps the EtcdBackup until
 * its object is deleted.
 */
async function markBackup(
  kube: ScheduleWrites,
  backup: EtcdBackup,
  isGoing: boolean,
  signal: AbortSignal,
): Promise<Written> {
  const others = (backup.metadata.finalizers ?? []).filter((each) => each !== OBJECT_FINALIZER);
  const isHeld = isGoing || backup.spec.deletionPolicy === "Delete";
  const metadata = {
    annotations: { [DELETE_OBJECT_ANNOTATION]: isGoing ? "true" : null },
    finalizers: isHeld ? [...others, OBJECT_FINALIZER] : others,
  };
  return await patchMetadata(kube, ETCD_BACKUPS, backup, metadata, signal);
}
