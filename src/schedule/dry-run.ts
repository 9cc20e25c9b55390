import { DEFAULT_ARCHIVE } from "#api/backup-conversion.ts";
import { DEFAULTS } from "#api/conversion.ts";
import { merged } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { whyNotShape } from "#api/shape.ts";
import {
  type DryRunStatus,
  ETCD_BACKUP_SCHEDULES,
  type EtcdBackupSchedule,
  type EtcdBackupScheduleSpec,
} from "#api/v1beta1/schedule.ts";
import { isMap, mapInText, quoted, record } from "#base/json.ts";
import { calendarOf } from "#schedule/cron.ts";
import { disposalsOf } from "#schedule/disposal.ts";
import { madeAtMs, type ScheduleSnapshot } from "#schedule/snapshot.ts";

// How can a user preview what a retention deletes?
//   kubectl annotate etcdbackupschedule nightly etcd.improbable.io/dry-run='{"retention":{"keepLast":7}}' The value is
//   a merge patch of spec, as for `kubectl patch --type=merge`. Nothing is executed.

/** Most backups listed: users read the status, and its size is limited. */
const MAX_LISTED = 100;

/** Cache by snapshot: a dry run costs as much as a plan. */
const DRY_RUNS = new WeakMap<ScheduleSnapshot, DryRunStatus | undefined>();

/** @see dryRun */
export function dryRunOf(snapshot: ScheduleSnapshot): DryRunStatus | undefined {
  if (!DRY_RUNS.has(snapshot)) DRY_RUNS.set(snapshot, dryRun(snapshot));
  return DRY_RUNS.get(snapshot);
}

/** What the annotation's edit would delete; `undefined` without the annotation. Accepts any text, and never throws. */
function dryRun(snapshot: ScheduleSnapshot): DryRunStatus | undefined {
  const { schedule } = snapshot;
  const text = schedule.metadata.annotations?.[DRY_RUN_ANNOTATION];
  if (text === undefined) return undefined;
  const spec = editedSpec(schedule, text);
  if (typeof spec === "string") return { refused: [{ rule: "SpecRefused", message: spec }], deletes: [] };
  const all = disposalsOf(spec, snapshot);
  const deletes = all.slice(0, MAX_LISTED).map(({ backup, isWithObject }) => {
    const isObjectLost =
      isWithObject || (backup.spec.deletionPolicy === "Delete" && backup.status?.phase === "Completed");
    const { objectURL } = backup.status ?? {};
    return { name: backup.metadata.name, ...(isObjectLost && objectURL !== undefined ? { objectURL } : {}) };
  });
  return { deletes, ...(all.length > MAX_LISTED ? { more: all.length - MAX_LISTED } : {}) };
}

/** @returns a sentence when the text is no valid edit */
function editedSpec(schedule: EtcdBackupSchedule, text: string): EtcdBackupScheduleSpec | string {
  const patch = mapInText(text);
  if (patch === undefined)
    return `it is ${quoted(text)}; it must be a JSON object, a merge patch of spec such as {"retention":{"keepLast":7}}`;
  const asked: Readonly<Record<string, unknown>> = {
    ...DEFAULTS.EtcdBackupSchedule,
    ...record(merged(schedule.spec, patch)),
  };
  // The API server fills in the defaults of an archive.
  const edited = isMap(asked.archive) ? { ...asked, archive: { ...DEFAULT_ARCHIVE, ...asked.archive } } : asked;
  const why = whyNotShape(edited, ETCD_BACKUP_SCHEDULES.kind);
  if (why !== undefined) return `with it, ${why}`;
  const spec = edited as EtcdBackupScheduleSpec;
  if (spec.retention !== undefined && spec.successfulBackupsHistoryLimit !== undefined)
    return "with it, spec has both retention and successfulBackupsHistoryLimit; it must have one of them";
  const calendar = calendarOf(spec, madeAtMs(schedule));
  return typeof calendar === "string" ? `with it, ${calendar}` : spec;
}
