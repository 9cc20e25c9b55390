import { archiveBackupName } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import type { Clock } from "#base/clock.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import type { CacheView, Key } from "#runtime/controller.ts";
import { dueName, runsOf } from "#schedule/runs.ts";
import { byAge, isOwned, type ScheduleSnapshot } from "#schedule/snapshot.ts";

/** EtcdBackups by the EtcdBackupSchedule of their label: `namespace/name` of it. */
export const SCHEDULE_INDEX = "schedule";

export interface ScheduleReads {
  readonly schedules: CacheView<EtcdBackupSchedule>;
  readonly backups: CacheView<EtcdBackup>;
  readonly clock: Clock;
}

/** Everything that one decision may use. All of it is cached. */
export function observeSchedule(reads: ScheduleReads, key: Key): Observed<ScheduleSnapshot> {
  const schedule = reads.schedules.get(key);
  if (schedule === undefined) return absent;
  const { namespace, name } = key;
  const own = reads.backups
    .byIndex(SCHEDULE_INDEX, `${namespace}/${name}`)
    .filter((backup) => isOwned({ schedule }, backup))
    .toSorted(byAge);
  const backups = own.filter(({ spec }) => spec.archive === undefined);
  const archive = own.find(({ spec }) => spec.archive !== undefined);
  const seen = { takenAtMs: reads.clock.wallMs(), schedule, backups };
  const { dueMs } = runsOf(seen);
  const namesake = dueMs === undefined ? undefined : reads.backups.get({ namespace, name: dueName(schedule, dueMs) });
  const taken = archive === undefined ? reads.backups.get({ namespace, name: archiveBackupName(name) }) : undefined;
  return present({ ...seen, archive, archiveNamesake: taken, namesake });
}
