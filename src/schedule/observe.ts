import { placeText } from "#api/backup-folder.ts";
import { archiveBackupName, DELETE_OBJECT_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES, type EtcdBackupSchedule, type EtcdBackupScheduleSpec } from "#api/v1beta1/schedule.ts";
import type { Clock } from "#base/clock.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { apiVersionOf } from "#kube/kinds.ts";
import type { CacheView, Key } from "#runtime/controller.ts";
import { dueName, runsOf } from "#schedule/runs.ts";
import {
  byAge,
  isActive,
  isDeleting,
  isOwned,
  isReading,
  type ScheduleSnapshot,
  scheduleUidOf,
} from "#schedule/snapshot.ts";
import { wantedSinceMs } from "#schedule/verdict.ts";

/** Index of EtcdBackups by the label of their schedule: `namespace/name` of the EtcdBackupSchedule. */
export const SCHEDULE_INDEX = "schedule";
/** Index by namespace of EtcdBackups that archive changes. */
export const ARCHIVE_INDEX = "archive";
/** Index of EtcdRestores by source: `namespace/name` of the EtcdBackup. */
export const RESTORED_INDEX = "restored";
/** Index of EtcdClusters by the EtcdBackup with which they will begin: `namespace/name` of it. */
export const BEGINNING_INDEX = "beginning";

export interface ScheduleReads {
  readonly schedules: CacheView<EtcdBackupSchedule>;
  readonly backups: CacheView<EtcdBackup>;
  readonly clusters: Pick<CacheView<EtcdCluster>, "get" | "byIndex">;
  readonly restores: Pick<CacheView<EtcdRestore>, "byIndex">;
  readonly clock: Clock;
}

/**
 * Reads everything that one decision may use, all of it from caches. A deleted schedule is still observed while marks
 * of it are left on EtcdBackups.
 */
export function observeSchedule(reads: ScheduleReads, key: Key): Observed<ScheduleSnapshot> {
  const { namespace, name } = key;
  const labelled = reads.backups.byIndex(SCHEDULE_INDEX, `${namespace}/${name}`);
  const schedule = reads.schedules.get(key);
  const takenAtMs = reads.clock.wallMs();
  const left = labelled.filter((backup) => isToBeTakenBack(backup) && scheduleUidOf(backup) !== schedule?.metadata.uid);
  if (schedule === undefined) return left.length === 0 ? absent : present(goneSchedule(key, left, takenAtMs));
  const own = labelled.filter((backup) => isOwned({ schedule }, backup)).toSorted(byAge);
  const backups = own.filter(({ spec }) => spec.archive === undefined);
  const archive = own.find(({ spec }) => spec.archive !== undefined);
  const named = schedule.spec.backupTemplate.spec.source.cluster;
  const cluster = named === undefined ? undefined : reads.clusters.get({ namespace, name: named.name });
  const seen = { takenAtMs, schedule, cluster, backups };
  const { dueMs, lastMs } = runsOf(seen);
  const runAt = (ms: number | undefined) =>
    ms === undefined ? undefined : reads.backups.get({ namespace, name: dueName(schedule, ms) });
  const ownRunAt = (ms: number | undefined) => {
    const made = runAt(ms);
    return made !== undefined && isOwned(seen, made) ? made : undefined;
  };
  const isRead = ({ metadata }: EtcdBackup) => {
    const text = `${namespace}/${metadata.name}`;
    const isBeginning = reads.clusters.byIndex(BEGINNING_INDEX, text).length > 0;
    return isBeginning || reads.restores.byIndex(RESTORED_INDEX, text).some(isReading);
  };
  const taken = archive === undefined ? reads.backups.get({ namespace, name: archiveBackupName(name) }) : undefined;
  return present({
    ...seen,
    lastRun: ownRunAt(lastMs),
    wantedRun: ownRunAt(wantedSinceMs(seen)),
    left,
    restoring: new Set(backups.filter(isRead).map(({ metadata }) => metadata.name)),
    archive,
    rival: rivalOf(reads, schedule),
    archiveNamesake: taken,
    namesake: runAt(dueMs),
  });
}

/** The oldest other EtcdBackup that archives to this schedule's place. */
function rivalOf({ backups }: ScheduleReads, schedule: EtcdBackupSchedule): EtcdBackup | undefined {
  const { archive, backupTemplate } = schedule.spec;
  if (archive === undefined) return undefined;
  const place = placeText(backupTemplate.spec);
  const others = backups.byIndex(ARCHIVE_INDEX, schedule.metadata.namespace);
  return others
    .filter((other) => isActive(other) && !isOwned({ schedule }, other) && placeText(other.spec) === place)
    .toSorted(byAge)[0];
}

function isToBeTakenBack(backup: EtcdBackup): boolean {
  return backup.metadata.annotations?.[DELETE_OBJECT_ANNOTATION] === "true" && !isDeleting(backup);
}

/** Stand-in for a deleted schedule: only its name, uid and deletion are known. */
function goneSchedule({ namespace, name }: Key, left: readonly EtcdBackup[], takenAtMs: number): ScheduleSnapshot {
  const uid = left.map(scheduleUidOf).find((each) => each !== undefined) ?? "";
  const metadata = { namespace, name, uid, resourceVersion: "", deletionTimestamp: rfc3339(takenAtMs) };
  const { kind } = ETCD_BACKUP_SCHEDULES;
  const apiVersion = apiVersionOf(ETCD_BACKUP_SCHEDULES);
  const schedule: EtcdBackupSchedule = { apiVersion, kind, metadata, spec: {} as EtcdBackupScheduleSpec };
  const none = {
    cluster: undefined,
    lastRun: undefined,
    wantedRun: undefined,
    restoring: new Set<string>(),
    archive: undefined,
    rival: undefined,
    archiveNamesake: undefined,
  };
  return { takenAtMs, schedule, backups: [], left, namesake: undefined, ...none };
}
