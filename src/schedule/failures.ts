import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupScheduleStatus } from "#api/v1beta1/schedule.ts";
import { type Backoff, delayMs } from "#base/backoff.ts";
import { madeAtMs, type ScheduleSnapshot } from "#schedule/snapshot.ts";

/** How often archives have failed in a row, and when the latest one did. */
export type ArchiveFailures = NonNullable<EtcdBackupScheduleStatus["archiveFailures"]>;

/**
 * So long an archive that has failed can be looked at before another one is made: from a minute to half an hour. One that fails at once would be made anew
 * twelve hundred times a day.
 */
const PAUSE: Backoff = { firstMs: 60_000, maxMs: 30 * 60_000, factor: 2, jitter: 0 };
/** An archive that has worked so long did not fail for the cause of those before, in milliseconds. */
const WHILE_MS = 30 * 60_000;

/** By what is on record, and the archive that is there; undefined: none has failed, or it is long ago. */
export function failuresIn({ schedule, archive, takenAtMs }: Failing): ArchiveFailures | undefined {
  const known = schedule.status?.archiveFailures;
  if (schedule.spec.archive === undefined || archive === undefined) return schedule.spec.archive && known;
  const { phase, completionTime } = archive.status ?? {};
  if (phase !== "Failed" || completionTime === undefined)
    return takenAtMs - madeAtMs(archive) >= WHILE_MS ? undefined : known;
  if (known?.time === completionTime) return known;
  const hasWorked = Date.parse(completionTime) - madeAtMs(archive) >= WHILE_MS;
  return { count: hasWorked ? 1 : (known?.count ?? 0) + 1, time: completionTime };
}

type Failing = Pick<ScheduleSnapshot, "schedule" | "archive" | "takenAtMs">;

/** How long another one is not made after this one has failed, in milliseconds. */
export function pauseMsAfter({ count }: ArchiveFailures): number {
  return delayMs(PAUSE, count - 1, 0);
}

/** Whether the archive has failed, and it is time for another one. */
export function isToBeReplaced(snapshot: Failing, archive: EtcdBackup): boolean {
  if (archive.status?.phase !== "Failed") return false;
  const failures = failuresIn(snapshot);
  return failures !== undefined && snapshot.takenAtMs - Date.parse(failures.time) >= pauseMsAfter(failures);
}
