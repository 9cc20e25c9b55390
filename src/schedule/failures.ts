import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupScheduleStatus } from "#api/v1beta1/schedule.ts";
import { type Backoff, delayMs } from "#base/backoff.ts";
import { madeAtMs, type ScheduleSnapshot } from "#schedule/snapshot.ts";

/** Number of consecutive failures of archives, and the time of the latest. */
export type ArchiveFailures = NonNullable<EtcdBackupScheduleStatus["archiveFailures"]>;

/**
 * Pause after a failed archive: from a minute to half an hour. Without it, an archive that fails at once would be
 * created twelve hundred times a day.
 */
const PAUSE: Backoff = { firstMs: 60_000, maxMs: 30 * 60_000, factor: 2, jitter: 0 };
/**
 * After this time an archive's failure starts a new count, in milliseconds: its cause differs from that of earlier
 * failures.
 */
const WHILE_MS = 30 * 60_000;

/** Failures from the status and the present archive; undefined: none, or long ago. */
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

/** Pause before the next archive, in milliseconds. */
export function pauseMsAfter({ count }: ArchiveFailures): number {
  return delayMs(PAUSE, count - 1, 0);
}

/** Whether the archive has failed and its pause is over. */
export function isToBeReplaced(snapshot: Failing, archive: EtcdBackup): boolean {
  if (archive.status?.phase !== "Failed") return false;
  const failures = failuresIn(snapshot);
  return failures !== undefined && snapshot.takenAtMs - Date.parse(failures.time) >= pauseMsAfter(failures);
}
