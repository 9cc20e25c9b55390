import { DELETE_OBJECT_ANNOTATION, OBJECT_FINALIZER } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import {
  ETCD_BACKUP_SCHEDULES,
  type EtcdBackupSchedule,
  type EtcdBackupScheduleStatus,
} from "#api/v1beta1/schedule.ts";
import { OperatorError } from "#base/error.ts";
import type { KubeClient } from "#kube/client.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";
import { liveOf } from "#kube/live.ts";
import { outOfDate } from "#kube/out-of-date.ts";
import type { Written } from "#runtime/controller.ts";
import { beginningOf, isReading, isSettled, type ScheduleSnapshot } from "#schedule/snapshot.ts";
import type { ScheduleStep } from "#schedule/step.ts";

/** What this room writes to. */
export type ScheduleWrites = Pick<KubeClient, "get" | "list" | "create" | "replace" | "patch" | "delete">;

/** Does one step: exactly one write, with its precondition. */
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

/** Writes the status of the object as it was read: whoever changed it since makes this a conflict. */
export async function writeStatus(
  kube: ScheduleWrites,
  schedule: EtcdBackupSchedule,
  status: EtcdBackupScheduleStatus,
  signal: AbortSignal,
): Promise<Written> {
  const changed: EtcdBackupSchedule = { ...schedule, status };
  return stored(
    ETCD_BACKUP_SCHEDULES,
    await kube.replace(ETCD_BACKUP_SCHEDULES, changed, { signal, subresource: "status" }),
  );
}

/**
 * What is written is an EtcdBackup, which does not tell that the cache of schedules is behind: who has just suspended or deleted the schedule wants no
 * backup, and who has just said that more are kept loses none.
 */
async function needSchedule(kube: ScheduleWrites, schedule: EtcdBackupSchedule, signal: AbortSignal) {
  const { metadata } = schedule;
  const live = await liveOf(kube, ETCD_BACKUP_SCHEDULES, schedule, signal);
  const isSame = live?.metadata.generation === metadata.generation && live?.metadata.deletionTimestamp === undefined;
  if (live !== undefined && isSame) return live;
  throw outOfDate(ETCD_BACKUP_SCHEDULES, metadata, `EtcdBackupSchedule ${metadata.name} has changed`);
}

/** Of a run whose EtcdBackup is gone by now only the status tells, and it may say more than the cache: another operator was the leader a moment ago. */
function needNoOtherRun({ metadata, status }: EtcdBackupSchedule, live: EtcdBackupSchedule) {
  const time = live.status?.lastScheduleTime;
  if (time === status?.lastScheduleTime) return;
  throw outOfDate(
    ETCD_BACKUP_SCHEDULES,
    metadata,
    `the latest run of EtcdBackupSchedule ${metadata.name} is that of ${time}`,
  );
}

/** The good backups for which another one may go are looked at once more: somebody may be deleting them just now. */
async function needKeepers(kube: ScheduleWrites, keepers: readonly EtcdBackup[], signal: AbortSignal) {
  for (const keeper of keepers) {
    const live = await liveOf(kube, ETCD_BACKUPS, keeper, signal);
    if (live !== undefined && isSettled(live)) continue;
    throw outOfDate(ETCD_BACKUPS, keeper.metadata, `EtcdBackup ${keeper.metadata.name} is going`);
  }
}

/** Somebody may have asked just now for a restore from what was about to go. */
async function needNoRestore(kube: ScheduleWrites, { metadata, status }: EtcdBackup, signal: AbortSignal) {
  if (status?.phase !== "Completed") return;
  const { namespace, name } = metadata;
  const { items } = await kube.list(ETCD_RESTORES, { namespace }, { signal });
  const reader = items.find((restore) => restore.spec.source.backupName === name && isReading(restore));
  if (reader !== undefined)
    throw new OperatorError("KubeConflict", `EtcdRestore ${reader.metadata.name} reads EtcdBackup ${name}`);
}

/** Or for an EtcdCluster that begins with it. A list of these is large: it is asked for before the deletion alone, which nobody takes back. */
async function needNoBeginner(kube: ScheduleWrites, { metadata, status }: EtcdBackup, signal: AbortSignal) {
  if (status?.phase !== "Completed") return;
  const { namespace, name } = metadata;
  const clusters = await kube.list(ETCD_CLUSTERS, { namespace }, { signal });
  const beginner = clusters.items.find((cluster) => beginningOf(cluster) === name);
  if (beginner === undefined) return;
  throw new OperatorError("KubeConflict", `EtcdCluster ${beginner.metadata.name} is to begin with EtcdBackup ${name}`);
}

/** Deletes only this very backup, and only as it was read: whoever has just said that it stays is heard. */
async function deleteBackup(kube: ScheduleWrites, { metadata }: EtcdBackup, signal: AbortSignal): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const preconditions = { uid, resourceVersion };
  await kube.delete(ETCD_BACKUPS, { namespace, name }, { signal, preconditions, propagation: "Background" });
  return { kind: "external" };
}

/** Patches only this very backup, and only as it was read. The finalizer keeps the EtcdBackup until its object is gone. */
async function markBackup(
  kube: ScheduleWrites,
  { metadata, spec }: EtcdBackup,
  isGoing: boolean,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid, resourceVersion, finalizers = [] } = metadata;
  const others = finalizers.filter((each) => each !== OBJECT_FINALIZER);
  const isHeld = isGoing || spec.objectPolicy === "Delete";
  const patch = {
    metadata: {
      annotations: { [DELETE_OBJECT_ANNOTATION]: isGoing ? "true" : null },
      finalizers: isHeld ? [...others, OBJECT_FINALIZER] : others,
    },
  };
  const options = { signal, type: "merge" as const, preconditions: { uid, resourceVersion } };
  return stored(ETCD_BACKUPS, await kube.patch(ETCD_BACKUPS, { namespace, name }, patch, options));
}

function stored<T extends KubeObject>(resource: Resource<T>, object: T): Written {
  return { kind: "stored", resource, object };
}
