import { expect, test } from "vitest";
import { failureIn } from "#agent/failure.ts";
import { BACKUP_REASONS, type BackupReason } from "#api/conditions.ts";
import { DRY_RUN_ANNOTATION, SCHEDULE_UID_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { archiveOf, counted, MADE_MS, run, saying, schedule, source, TEMPLATE } from "#kit/snapshots/schedule.ts";
import { planText } from "#kit/tables/plan-text.ts";
import { archiveFor, backupFor } from "#schedule/desired/backup.ts";
import { dryRunOf } from "#schedule/dry-run.ts";
import { planSchedule, SCHEDULE_RULES } from "#schedule/plan.ts";
import { repeatAtMs } from "#schedule/retries.ts";
import { runsOf } from "#schedule/runs.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import { scheduleStatus } from "#schedule/status.ts";
import type { ScheduleStep } from "#schedule/step.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;

function stepText(step: ScheduleStep): string {
  return `${step.do} ${step.backup.metadata.name}`;
}

/** The run of noon is due. */
function due(given: Parameters<typeof schedule>[0] = {}): ScheduleSnapshot {
  const status = counted({}, { lastScheduleTime: rfc3339(NOW - HOUR), runs: 3 });
  return schedule({ status, ...given });
}

const active = run(NOW - HOUR, { phase: "active" });
const theirs = run(NOW, { metadata: { annotations: { [SCHEDULE_UID_ANNOTATION]: "another" } } });
const unlabelled = run(NOW, { metadata: { labels: {} } });
const ASLEEP = source({ replicas: 0 }, true);
/** The cluster falls asleep, and another condition is unrelated. */
function otherwise(cluster: ReturnType<typeof source>): typeof cluster {
  const said = saying(cluster, "FallingAsleep");
  const conditions = said.status?.conditions?.map((each) => ({ ...each, type: "Progressing" }));
  return { ...said, status: { ...said.status, conditions } } as typeof cluster;
}
const keepLast = { retention: { keepLast: 1 } };
const [older, newer] = [run(NOW - 2 * HOUR), run(NOW - HOUR)];
const given = run(NOW - 2 * HOUR, { given: true });

interface FailedRun {
  /** When it was due. Default: noon. */
  readonly ranMs?: number;
  /** When it failed. Default: at once. */
  readonly endedMs?: number;
  readonly failed?: BackupReason;
  readonly deleting?: boolean;
  readonly more?: readonly EtcdBackup[];
  readonly spec?: { readonly schedule?: string } & Readonly<Record<string, unknown>>;
  readonly since?: string;
  readonly cluster?: ScheduleSnapshot["cluster"];
  readonly atMs?: number;
}

/** A schedule so many minutes after noon, when its latest run has failed. */
function failedRun(minutes: number, given: FailedRun = {}): ScheduleSnapshot {
  const { ranMs = NOW, endedMs = ranMs, failed = "StoreUnreachable", deleting = false, more = [], spec = {} } = given;
  const made = run(ranMs, { failed, deleting });
  const completionTime = Number.isNaN(endedMs) ? "soon" : rfc3339(endedMs);
  const backups = [{ ...made, status: { ...made.status, completionTime } }, ...more];
  const status = counted(spec, { lastScheduleTime: rfc3339(ranMs), runs: 3 });
  const since = given.since ?? status.counted?.since ?? "";
  const from = { counted: { schedule: "@hourly", timeZone: "UTC", ...status.counted, since } };
  const { cluster, atMs = NOW + minutes * MINUTE } = given;
  return schedule({ spec, backups, atMs, status: { ...status, ...from }, ...(cluster && { cluster }) });
}

/** A completed backup of the etcd that the archive describes. */
const stored = (atMs: number) => run(atMs, { etcd: "a" });

/** An archive without a gap since this revision, half an hour after the latest run. Backups cover revision 12. */
function archiving(from: string, backups: ScheduleSnapshot["backups"], spec: object = {}): ScheduleSnapshot {
  const archive = archiveOf({ archive: { clusterID: "a", from, revision: "20", time: rfc3339(NOW), gaps: 1 } });
  return schedule({ spec: { archive: {}, ...spec }, archive, backups, atMs: NOW + HOUR / 2 });
}

const cases: readonly { name: string; given: ScheduleSnapshot; expect: string }[] = [
  { name: "nothing is done while no run is due", given: schedule(), expect: "settled" },
  { name: "a run that is due is created", given: due(), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "a schedule that is being deleted creates nothing", given: due({ deleting: true }), expect: "settled" },
  { name: "a schedule that is being deleted deletes nothing", given: schedule({ deleting: true, spec: keepLast, backups: [older, newer] }), expect: "settled" },
  { name: "a schedule that is being deleted removes marks from backups", given: schedule({ deleting: true, spec: keepLast, backups: [given, newer] }), expect: "deleting: keepObject nightly-20260101-100000" },
  { name: "a schedule that is being deleted ignores backups that are being deleted", given: schedule({ deleting: true, spec: keepLast, backups: [run(NOW - 2 * HOUR, { given: true, deleting: true }), newer] }), expect: "settled" },
  { name: "retention: backups are deleted one at a time", given: schedule({ spec: keepLast, backups: [run(NOW - 4 * HOUR), given, newer] }), expect: "delete-backup: deleteBackup nightly-20260101-100000" },
  { name: "a schedule with an invalid time zone creates nothing", given: due({ spec: { timeZone: "Mars/Phobos" } }), expect: "warn: refuse-schedule" },
  { name: "an edited schedule is recorded in the status before a run is created", given: due({ spec: { schedule: "@daily" } }), expect: "wait: restart-count" },
  { name: "a new schedule is recorded in the status before a run is created", given: due({ status: {} }), expect: "wait: restart-count" },
  { name: "a suspended schedule is not recorded in the status", given: due({ spec: { suspend: true }, status: {} }), expect: "settled" },
  { name: "a suspended schedule creates nothing", given: due({ spec: { suspend: true } }), expect: "settled" },
  { name: "a suspended schedule still deletes backups by its retention", given: schedule({ spec: { ...keepLast, suspend: true }, backups: [older, newer] }), expect: "release-object: giveObject nightly-20260101-100000" },
  { name: "a run with a backup that has lost its label is recorded", given: due({ namesake: unlabelled }), expect: "wait: record-run" },
  { name: "a foreign backup with the run's name is not adopted", given: due({ namesake: theirs }), expect: "warn: name-taken" },
  { name: "Forbid: a run waits while an earlier backup is running", given: due({ backups: [active] }), expect: "wait: await-backup" },
  { name: "Forbid: a run does not wait for a backup that has ended", given: due({ backups: [newer] }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "Forbid: a run does not wait for a backup that is being deleted", given: due({ backups: [run(NOW - HOUR, { phase: "active", deleting: true })] }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "Allow: a run does not wait for a running backup", given: due({ backups: [active], spec: { concurrencyPolicy: "Allow" } }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "Replace: the running backup is deleted when a run is due", given: due({ backups: [newer, active], spec: { concurrencyPolicy: "Replace" } }), expect: "replace-backup: deleteBackup nightly-20260101-110000" },
  { name: "Replace: the run is created after the running backup was deleted", given: due({ backups: [newer], spec: { concurrencyPolicy: "Replace" } }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "Replace: a running backup is not deleted while no run is due", given: schedule({ backups: [active], spec: { concurrencyPolicy: "Replace" } }), expect: "settled" },
  { name: "Replace: a running backup is not deleted for a run that exists", given: due({ backups: [active], namesake: unlabelled, spec: { concurrencyPolicy: "Replace" } }), expect: "wait: record-run" },
  { name: "immediate: the first run is created at once", given: schedule({ spec: { schedule: "0 0 1 6 *", immediate: true }, status: counted({ schedule: "0 0 1 6 *" }) }), expect: "create-backup: createBackup nightly-20251222-120000" },
  { name: "retention: an object is marked before its EtcdBackup is deleted", given: schedule({ spec: keepLast, backups: [older, newer] }), expect: "release-object: giveObject nightly-20260101-100000" },
  { name: "retention: an EtcdBackup is deleted when its object is marked", given: schedule({ spec: keepLast, backups: [given, newer] }), expect: "delete-backup: deleteBackup nightly-20260101-100000" },
  { name: "retention: an object is not marked when its own policy deletes it", given: schedule({ spec: keepLast, backups: [run(NOW - 2 * HOUR, { deletionPolicy: "Delete", given: true }), newer] }), expect: "delete-backup: deleteBackup nightly-20260101-100000" },
  { name: "retention: a backup that is being deleted is ignored", given: schedule({ spec: keepLast, backups: [run(NOW - 2 * HOUR, { given: true, deleting: true }), newer] }), expect: "settled" },
  { name: "retention: a failed backup does not displace a good one", given: schedule({ spec: keepLast, backups: [older, run(NOW - HOUR, { phase: "Failed" })] }), expect: "settled" },
  { name: "retention: a backup of another etcd does not displace a good one", given: schedule({ spec: keepLast, backups: [run(NOW - 2 * HOUR, { etcd: "a" }), run(NOW - HOUR, { etcd: "b" })] }), expect: "settled" },
  { name: "retention: a marked backup that is to be kept is unmarked", given: schedule({ spec: { retention: { keepLast: 2 } }, backups: [given, newer] }), expect: "keep-object: keepObject nightly-20260101-100000" },
  { name: "retention: a marked backup is unmarked when spec.retention was removed", given: schedule({ backups: [given, newer] }), expect: "keep-object: keepObject nightly-20260101-100000" },
  { name: "history: a completed backup beyond the limit is deleted", given: schedule({ spec: { successfulBackupsHistoryLimit: 1 }, backups: [older, newer] }), expect: "delete-backup: deleteBackup nightly-20260101-100000" },
  { name: "history: no completed backup is deleted without a limit", given: schedule({ backups: [older, newer] }), expect: "settled" },
  { name: "history: failed backups beyond the limit are deleted, oldest first", given: schedule({ spec: { failedBackupsHistoryLimit: 1 }, backups: [4, 3, 2, 1].map((n) => run(NOW - n * HOUR, { phase: "Failed" })) }), expect: "delete-backup: deleteBackup nightly-20260101-080000" },
  { name: "history: all failed backups are deleted with a limit of 0", given: schedule({ spec: { failedBackupsHistoryLimit: 0 }, backups: [run(NOW, { phase: "Failed" })] }), expect: "delete-backup: deleteBackup nightly-20260101-120000" },
  { name: "archive: the archive is created before a run that is due", given: due({ spec: { archive: {} } }), expect: "begin-archive: createBackup nightly-changes" },
  { name: "archive: a schedule that is being deleted creates no archive", given: schedule({ spec: { archive: {} }, deleting: true }), expect: "settled" },
  { name: "archive: a running archive is not changed", given: schedule({ spec: { archive: {} }, archive: archiveOf() }), expect: "settled" },
  { name: "archive: the archive is deleted when spec.archive was removed", given: schedule({ archive: archiveOf() }), expect: "end-archive: deleteBackup nightly-changes" },
  { name: "archive: the archive is deleted when spec.archive changes", given: schedule({ spec: { archive: { maxAge: "5s" } }, archive: archiveOf() }), expect: "end-archive: deleteBackup nightly-changes" },
  { name: "archive: the archive is deleted when the backup template changes", given: schedule({ spec: { archive: {} }, archive: archiveOf({}, { compression: "Zstd" }) }), expect: "end-archive: deleteBackup nightly-changes" },
  { name: "archive: the template's deletionPolicy and deadline do not apply to the archive", given: schedule({ spec: { archive: {}, backupTemplate: { spec: { ...TEMPLATE, deletionPolicy: "Delete", activeDeadlineSeconds: 60 } } }, archive: archiveOf() }), expect: "settled" },
  { name: "archive: a failed archive is deleted after a minute to be replaced", given: schedule({ spec: { archive: {} }, archive: archiveOf({ phase: "Failed", completionTime: rfc3339(NOW - 60_000) }) }), expect: "end-archive: deleteBackup nightly-changes" },
  { name: "archive: a failed archive is not deleted within a minute", given: schedule({ spec: { archive: {} }, archive: archiveOf({ phase: "Failed", completionTime: rfc3339(NOW - 59_000) }) }), expect: "settled" },
  { name: "archive: a backup is created when none covers the changes before the archive", given: archiving("14", [run(NOW - HOUR, { etcd: "a" })]), expect: "close-gap: createBackup nightly-20260101-123000" },
  { name: "archive: no backup is created when one covers the changes before the archive", given: archiving("13", [run(NOW - HOUR, { etcd: "a" })]), expect: "settled" },
  { name: "archive: no backup is created while one is running", given: archiving("14", [run(NOW - HOUR, { phase: "active" })]), expect: "settled" },
  { name: "archive: no backup is created within ten minutes after a failure", given: archiving("14", [run(NOW + HOUR / 2 - 599_000, { phase: "Failed" })]), expect: "settled" },
  { name: "archive: a backup is created ten minutes after a failure", given: archiving("14", [run(NOW + HOUR / 2 - 600_000, { phase: "Failed" })]), expect: "close-gap: createBackup nightly-20260101-123000" },
  { name: "archive: a suspended schedule creates no backup for the archive", given: archiving("14", [], { suspend: true }), expect: "settled" },
  { name: "history: the latest failed backup stays, in any order of the list", given: schedule({ spec: { failedBackupsHistoryLimit: 1 }, backups: [run(NOW - HOUR, { phase: "Failed" }), run(NOW - 4 * HOUR, { phase: "Failed" })] }), expect: "delete-backup: deleteBackup nightly-20260101-080000" },
  { name: "history: a failed backup that is being deleted is ignored", given: schedule({ spec: { failedBackupsHistoryLimit: 0 }, backups: [run(NOW, { phase: "Failed", deleting: true })] }), expect: "settled" },
  { name: "Forbid: a run does not wait for a failed backup", given: due({ backups: [run(NOW - HOUR, { phase: "Failed" })] }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "retention: a backup with the annotation and without the finalizer is not marked", given: schedule({ spec: keepLast, backups: [run(NOW - 2 * HOUR, { given: true, metadata: { finalizers: [] } }), newer] }), expect: "release-object: giveObject nightly-20260101-100000" },
  { name: "retention: a backup with the finalizer and without the annotation is not marked", given: schedule({ spec: keepLast, backups: [run(NOW - 2 * HOUR, { held: true }), newer] }), expect: "release-object: giveObject nightly-20260101-100000" },
  { name: "retention: a marked backup is unmarked although another is to be deleted", given: schedule({ spec: { retention: { keepLast: 2 } }, backups: [run(NOW - 5 * HOUR), given, newer] }), expect: "keep-object: keepObject nightly-20260101-100000" },
  { name: "retention: a defective backup does not displace a good one", given: schedule({ spec: keepLast, backups: [older, run(NOW - HOUR, { doubted: "VerificationFailed" })] }), expect: "settled" },
  { name: "retention: a backup with an object that is no snapshot does not displace a good one", given: schedule({ spec: keepLast, backups: [older, run(NOW - HOUR, { doubted: "SnapshotCorrupt" })] }), expect: "settled" },
  { name: "retention: a backup that cannot be restored does not displace a good one", given: schedule({ spec: keepLast, backups: [older, run(NOW - HOUR, { doubted: "RestoreToolFailed" })] }), expect: "settled" },
  { name: "retention: a backup with a missing object does not displace a good one", given: schedule({ spec: keepLast, backups: [older, run(NOW - HOUR, { doubted: "NoSuchObject" })] }), expect: "settled" },
  { name: "retention: a backup with a verification that has not ended does not displace a good one", given: schedule({ spec: keepLast, backups: [older, run(NOW - HOUR, { doubted: "open" })] }), expect: "settled" },
  { name: "retention: a backup with a verification that could not run displaces an older one", given: schedule({ spec: keepLast, backups: [older, run(NOW - HOUR, { doubted: "StoreUnreachable" })] }), expect: "release-object: giveObject nightly-20260101-100000" },
  { name: "retention: a defective backup stays for inspection", given: schedule({ spec: keepLast, backups: [run(NOW - 2 * HOUR, { doubted: "VerificationFailed" }), newer] }), expect: "settled" },
  { name: "retention: a backup is unmarked when the later backup is found defective", given: schedule({ spec: keepLast, backups: [given, run(NOW - HOUR, { doubted: "VerificationFailed" })] }), expect: "keep-object: keepObject nightly-20260101-100000" },
  { name: "retention: the latest backup by revision and the latest by time both stay", given: schedule({ spec: keepLast, backups: [run(NOW - HOUR, { etcd: "a", revision: "9" }), run(NOW - 2 * HOUR, { etcd: "a", revision: "10" })] }), expect: "settled" },
  { name: "retention: a backup that is the latest neither by revision nor by time is deleted", given: schedule({ spec: keepLast, backups: [run(NOW - HOUR, { etcd: "a", revision: "9" }), run(NOW - 2 * HOUR, { etcd: "a", revision: "10" }), run(NOW - 3 * HOUR, { etcd: "a", revision: "8" })] }), expect: "release-object: giveObject nightly-20260101-090000" },
  { name: "retention: a backup that an EtcdRestore reads stays, and the next one is deleted", given: schedule({ spec: keepLast, backups: [run(NOW - 3 * HOUR), run(NOW - 2 * HOUR), newer], restoring: [run(NOW - 3 * HOUR)] }), expect: "release-object: giveObject nightly-20260101-100000" },
  { name: "retention: a marked backup is unmarked when an EtcdRestore reads it", given: schedule({ spec: keepLast, backups: [given, newer], restoring: [given] }), expect: "keep-object: keepObject nightly-20260101-100000" },
  { name: "history: a backup that an EtcdRestore reads stays", given: schedule({ spec: { successfulBackupsHistoryLimit: 1 }, backups: [older, newer], restoring: [older] }), expect: "settled" },
  { name: "retention: a backup dated more than a day ahead displaces no other", given: schedule({ spec: keepLast, backups: [newer, run(NOW + 25 * HOUR)] }), expect: "settled" },
  { name: "retention: a backup dated more than a day ahead is not deleted", given: schedule({ spec: { retention: { keepFor: "30d" } }, backups: [newer, run(NOW + 400 * 24 * HOUR, { etcd: "a", revision: "10" }), run(NOW - HOUR, { etcd: "a" })] }), expect: "settled" },
  { name: "retention: a backup dated at most a day ahead counts", given: schedule({ spec: keepLast, backups: [newer, run(NOW + 24 * HOUR)] }), expect: "release-object: giveObject nightly-20260101-110000" },
  { name: "retention: a backup with an invalid revision counts like one without", given: schedule({ spec: keepLast, backups: [run(NOW - 3 * HOUR, { etcd: "a", revision: "x" }), run(NOW - 2 * HOUR, { etcd: "a", revision: "10" })] }), expect: "release-object: giveObject nightly-20260101-090000" },
  { name: "retention: the backups that an archive extends stay", given: archiving("1", [stored(NOW - 192 * HOUR), stored(NOW - 2 * HOUR), stored(NOW - HOUR)], keepLast), expect: "settled" },
  { name: "retention: backups older than an archive extends are deleted", given: archiving("1", [stored(NOW - 171 * HOUR), stored(NOW - 169 * HOUR - 1_000), stored(NOW - 169 * HOUR), stored(NOW - HOUR)], keepLast), expect: "release-object: giveObject nightly-20251225-090000" },
  { name: "asleep: a run waits for its sleeping cluster", given: due({ cluster: ASLEEP }), expect: "wait: cluster-asleep" },
  { name: "asleep: a run waits while the cluster falls asleep", given: due({ cluster: saying(source({ replicas: 0 }), "FallingAsleep") }), expect: "wait: cluster-asleep" },
  { name: "asleep: a run waits for a cluster created with 0 replicas", given: due({ cluster: { ...source({ replicas: 0 }), status: undefined } as never }), expect: "wait: cluster-asleep" },
  { name: "asleep: no run waits while the cluster cannot fall asleep", given: due({ cluster: saying(source({ replicas: 0 }), "StepRefused") }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "asleep: no run waits while the cluster forms", given: due({ cluster: saying(source({ replicas: 0 }), "Forming") }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "asleep: a run does not depend on the cluster's other conditions", given: due({ cluster: otherwise(source({ replicas: 0 })) }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "asleep: a run does not depend on a condition of an earlier generation", given: due({ cluster: saying(source({}), "FallingAsleep") }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "asleep: a run waits when the cluster is paused and asleep", given: due({ cluster: source({ replicas: 0, paused: true }, true) }), expect: "wait: cluster-asleep" },
  { name: "asleep: no run waits while a pause keeps the cluster awake", given: due({ cluster: saying(source({ replicas: 0, paused: true }), "FallingAsleep") }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "asleep: no run waits once the cluster is woken", given: due({ cluster: source({}, true) }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "asleep: the first run of an immediate schedule waits", given: schedule({ cluster: ASLEEP, spec: { schedule: "0 0 1 6 *", immediate: true }, status: counted({ schedule: "0 0 1 6 *" }) }), expect: "wait: cluster-asleep" },
  { name: "asleep: nothing waits while no run is due", given: schedule({ cluster: ASLEEP }), expect: "settled" },
  { name: "asleep: Replace: no running backup is deleted for a run that waits", given: due({ cluster: ASLEEP, backups: [active], spec: { concurrencyPolicy: "Replace" } }), expect: "wait: cluster-asleep" },
  { name: "asleep: Forbid: a run waits for the cluster, not for a running backup", given: due({ cluster: ASLEEP, backups: [active] }), expect: "wait: cluster-asleep" },
  { name: "asleep: backups are still deleted by the retention", given: due({ cluster: ASLEEP, spec: keepLast, backups: [older, newer] }), expect: "release-object: giveObject nightly-20260101-100000" },
  { name: "asleep: a run that waited for its cluster is created after its deadline", given: schedule({ status: counted({}, { lastScheduleTime: rfc3339(NOW - 3_600_000), heldTime: rfc3339(NOW), runs: 3 }), cluster: source({}), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + 61_000 }), expect: "create-backup: createBackup nightly-20260101-120000" },
  { name: "awake: a run that is late by more than its deadline is not created", given: due({ cluster: source({}), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + 61_000 }), expect: "settled" },
  { name: "asleep: an earlier run that waited does not extend the deadline of the next", given: schedule({ status: counted({}, { lastScheduleTime: rfc3339(NOW), heldTime: rfc3339(NOW), runs: 3 }), cluster: source({}) }), expect: "settled" },
  { name: "orphaned: a mark of an earlier schedule with the same name is removed", given: due({ left: [theirs] }), expect: "keep-orphaned: keepObject nightly-20260101-120000" },
  { name: "orphaned: a mark is removed when the schedule no longer exists", given: schedule({ deleting: true, left: [theirs] }), expect: "keep-orphaned: keepObject nightly-20260101-120000" },
  { name: "repeat: a run that failed for a reason that may pass is repeated after ten minutes", given: failedRun(10), expect: "create-backup: createBackup nightly-20260101-121000" },
  { name: "repeat: a failed run is not repeated before ten minutes have passed", given: failedRun(10, { atMs: NOW + 10 * MINUTE - 1 }), expect: "settled" },
  { name: "repeat: a failed run is not repeated when only a change can help", given: failedRun(10, { failed: "WrongCredentials" }), expect: "settled" },
  { name: "repeat: a run that failed late is repeated after a pause that is as long", given: failedRun(40, { endedMs: NOW + 20 * MINUTE }), expect: "create-backup: createBackup nightly-20260101-124000" },
  { name: "repeat: a failed repetition is repeated after the time since the run was due", given: failedRun(40, { ranMs: NOW + 10 * MINUTE, endedMs: NOW + 20 * MINUTE }), expect: "create-backup: createBackup nightly-20260101-124000" },
  { name: "repeat: nothing is repeated when the next run is due before", given: failedRun(59, { endedMs: NOW + 30 * MINUTE }), expect: "settled" },
  { name: "repeat: the next run is made instead of a repetition that was due before", given: failedRun(60), expect: "create-backup: createBackup nightly-20260101-130000" },
  { name: "repeat: nothing is repeated after the deadline of the run", given: failedRun(20, { endedMs: NOW + 10 * MINUTE, spec: { startingDeadlineSeconds: 1_199 } }), expect: "settled" },
  { name: "repeat: a run is repeated until the deadline of the run", given: failedRun(20, { endedMs: NOW + 10 * MINUTE, spec: { startingDeadlineSeconds: 1_200 } }), expect: "create-backup: createBackup nightly-20260101-122000" },
  { name: "repeat: the whole delay of a repetition that is over a minute late counts towards the deadline", given: failedRun(20, { atMs: NOW + 21 * MINUTE + 2_000, endedMs: NOW + 10 * MINUTE, spec: { startingDeadlineSeconds: 1_200 } }), expect: "settled" },
  { name: "repeat: a suspended schedule repeats nothing", given: failedRun(10, { spec: { suspend: true } }), expect: "settled" },
  { name: "repeat: nothing from before an edit or the end of a suspension is repeated", given: failedRun(10, { since: rfc3339(NOW + MINUTE) }), expect: "settled" },
  { name: "repeat: nothing is repeated while the cluster sleeps", given: failedRun(10, { cluster: ASLEEP }), expect: "settled" },
  { name: "repeat: a failed run is repeated when the cluster wakes", given: failedRun(30, { cluster: source({}) }), expect: "create-backup: createBackup nightly-20260101-121000" },
  { name: "repeat: a run that is being deleted is not repeated", given: failedRun(10, { deleting: true }), expect: "settled" },
  { name: "repeat: a run with an invalid completion time is not repeated", given: failedRun(10, { endedMs: Number.NaN }), expect: "settled" },
  { name: "repeat: a run that failed before it was due, by a wrong clock, is not repeated", given: failedRun(10, { endedMs: NOW - HOUR }), expect: "settled" },
  { name: "repeat: a run is not repeated when the repetition would have the same name, by a wrong clock", given: failedRun(10, { endedMs: NOW - 10 * MINUTE }), expect: "settled" },
  { name: "repeat: a repetition that is made within a minute is not late", given: failedRun(20, { atMs: NOW + 21 * MINUTE, endedMs: NOW + 10 * MINUTE, spec: { startingDeadlineSeconds: 1_200 } }), expect: "create-backup: createBackup nightly-20260101-122000" },
  { name: "repeat: only the latest run is repeated", given: failedRun(10, { more: [run(NOW + 5 * MINUTE)] }), expect: "settled" },
  { name: "repeat: Forbid: a repetition waits while a backup is running", given: failedRun(10, { more: [active] }), expect: "wait: await-backup" },
  { name: "repeat: the first run of an immediate schedule is repeated", given: failedRun(10, { ranMs: MADE_MS, endedMs: MADE_MS + MINUTE, atMs: MADE_MS + 11 * MINUTE, spec: { schedule: "0 0 1 6 *", immediate: true } }), expect: "create-backup: createBackup nightly-20251222-121100" },
  { name: "repeat: failed repetitions count for the history limit", given: failedRun(15, { ranMs: NOW + 10 * MINUTE, spec: { failedBackupsHistoryLimit: 1 }, more: [run(NOW, { failed: "StoreUnreachable" })] }), expect: "delete-backup: deleteBackup nightly-20260101-120000" },
  { name: "a running backup is never deleted for a limit", given: schedule({ spec: { failedBackupsHistoryLimit: 0, ...keepLast }, backups: [active] }), expect: "settled" },
]; // biome-ignore format: a table

for (const { name, given: snapshot, expect: expected } of cases) {
  test(`schedule plan: ${name}`, () => expect(planText(planSchedule(snapshot), stepText)).toBe(expected));
}

test("schedule plan: the next recheck is at the next due time", () => {
  expect(planSchedule(schedule({ atMs: NOW + 1_000 }))).toEqual({ next: "settled", recheckAfterMs: HOUR - 1_000 });
  expect(planSchedule(schedule({ spec: { suspend: true } }))).toEqual({ next: "settled" });
});

test("schedule plan: an EtcdBackup stays while its object cannot be marked", () => {
  const rest = { because: "refused", forMs: 60_000, isBrief: false };
  const plan = planSchedule(schedule({ spec: keepLast, backups: [older, newer] }), (rule) =>
    rule === "release-object" ? rest : undefined,
  );
  expect(plan).toMatchObject({ next: "settled", recheckAfterMs: 60_000, reports: [{ rule: "release-object" }] });
});

test("schedule plan: no object is marked while a marked EtcdBackup cannot be deleted", () => {
  const rest = { because: "refused", forMs: 60_000, isBrief: false };
  const backups = [run(NOW - 4 * HOUR), given, newer];
  const plan = planSchedule(schedule({ spec: keepLast, backups }), (rule) =>
    rule === "delete-backup" ? rest : undefined,
  );
  expect(plan).toMatchObject({ next: "settled", reports: [{ rule: "delete-backup" }] });
});

test("schedule plan: deletions name the latest good backup of the same etcd cluster", () => {
  const backups = [run(NOW - 3 * HOUR, { given: true, etcd: "a" }), run(NOW - 2 * HOUR, { etcd: "a" }), run(NOW - HOUR, { etcd: "b" })]; // biome-ignore format: a list
  const plan = planSchedule(schedule({ spec: keepLast, backups }));
  expect(plan).toMatchObject({ step: { do: "deleteBackup", backup: backups[0], keepers: [backups[1]] } });
});

test("schedule plan: the first and then every third run is verified", () => {
  const specs = [0, 1, 2, 3, 4, 6].map((runs) => {
    const status = counted({}, { lastScheduleTime: rfc3339(NOW - HOUR), runs });
    const plan = planSchedule(schedule({ status, spec: { verification: { every: 3 } } }));
    return (
      plan.next === "step" && plan.step.do === "createBackup" && plan.step.backup.spec?.verification?.mode === "Restore"
    );
  });
  expect(specs).toEqual([true, false, false, true, false, true]);
});

test("schedule plan: a foreign archive with the name is reported with what to do about it", () => {
  const archiveNamesake = archiveOf();
  const snapshot = { ...due({ spec: { archive: {} } }), archiveNamesake };
  const because =
    "spec.archive waits: EtcdBackup nightly-changes exists, and was not made by this schedule; delete it and a new one is created, which keeps what is stored";
  const plan = planSchedule(snapshot);
  expect(planText(plan, stepText)).toBe("create-backup: createBackup nightly-20260101-120000");
  expect(plan.reports).toEqual([{ rule: "begin-archive", because, is: "notice" }]);
  expect(scheduleStatus(snapshot, plan).conditions).toMatchObject([
    { type: "BackupReady" },
    { type: "Ready", status: "False", reason: "NameTaken", message: `begin-archive: ${because}` },
  ]);
  expect(planSchedule({ ...due(), archiveNamesake }).reports).toBeUndefined();
});

test("schedule plan: no run is verified while another verification runs", () => {
  const status = counted({}, { lastScheduleTime: rfc3339(NOW - HOUR), runs: 3 });
  const asked = (backups: readonly EtcdBackup[], spec: object = { verification: { every: 1 } }) => {
    const plan = planSchedule(schedule({ status, spec, backups }));
    return (
      plan.next === "step" && plan.step.do === "createBackup" && plan.step.backup.spec?.verification?.mode === "Restore"
    );
  };
  const [before, during] = ["None", "Restore"].map((mode) => ({ ...newer, spec: { ...newer.spec, verification: { mode } } })) as [EtcdBackup, EtcdBackup]; // biome-ignore format: a list
  const after = run(NOW - HOUR, { verified: true });
  expect([asked([before]), asked([during]), asked([{ ...after, spec: during.spec }])]).toEqual([true, false, true]);
  expect(asked([during], { backupTemplate: { spec: { ...TEMPLATE, verification: { mode: "Restore" } } } })).toBe(false);
  expect(asked([], { backupTemplate: { spec: { ...TEMPLATE, verification: { mode: "Restore" } } } })).toBe(true);
});

test("schedule plan: a repetition is verified like the run that it repeats, or when a verification is due", () => {
  const modes = (["None", "Restore"] as const).flatMap((mode) =>
    [9, 11].map((runs) => {
      const snapshot = failedRun(10, { spec: { verification: { every: 11 } } });
      const backups = snapshot.backups.map((each) => ({ ...each, spec: { ...each.spec, verification: { mode } } }));
      const status = { ...snapshot.schedule.status, runs };
      const plan = planSchedule({ ...snapshot, backups, schedule: { ...snapshot.schedule, status } });
      return plan.next === "step" && plan.step.do === "createBackup" && plan.step.backup.spec?.verification?.mode;
    }),
  );
  expect(modes).toEqual(["None", "Restore", "Restore", "Restore"]);
});

test("schedule plan: the next recheck is at the end of the pause before a run is repeated", () => {
  expect(planSchedule(failedRun(1))).toEqual({ next: "settled", recheckAfterMs: 9 * MINUTE });
  const late = failedRun(50, { endedMs: NOW + 35 * MINUTE });
  expect(planSchedule(late)).toEqual({ next: "settled", recheckAfterMs: 10 * MINUTE });
});

test("schedule plan: a run is created because it is due, or because a failed run is repeated", () => {
  expect(planSchedule(failedRun(60))).toMatchObject({ because: "a backup was due at 2026-01-01T13:00:00Z" });
  const because = "EtcdBackup nightly-20260101-120000 has failed and is repeated";
  expect(planSchedule(failedRun(10))).toMatchObject({ because });
});

test("schedule plan: while the store is away, pauses double until the next run is due", () => {
  const spec = { schedule: "@daily" };
  const midnight = NOW + 12 * HOUR;
  const made: number[] = [];
  let ranMs = NOW - 12 * HOUR;
  for (;;) {
    // Each attempt takes five minutes.
    const given = { spec, ranMs, endedMs: ranMs + 5 * MINUTE, atMs: midnight };
    const { nextMs } = runsOf({ ...failedRun(0, given), takenAtMs: ranMs + 5 * MINUTE });
    if (nextMs === undefined || nextMs >= midnight) break;
    made.push((nextMs - (NOW - 12 * HOUR)) / MINUTE);
    ranMs = nextMs;
  }
  expect(made).toEqual([15, 40, 90, 190, 390, 790]);
});

test("schedule plan: only a run that failed for a reason that may pass is repeated", () => {
  const due = NOW - HOUR;
  const reasons = Object.keys(BACKUP_REASONS) as BackupReason[];
  const mayPass = reasons.filter((failed) => repeatAtMs(run(due, { failed }), due) !== undefined);
  expect(mayPass.toSorted()).toEqual([
    ...["AgentFailed", "AnotherAttempt", "ClusterNotFormed", "ImageUnavailable", "Internal", "NameTaken", "NoQuorum"],
    ...["PodPending", "PodRefused", "SecretMissing", "SnapshotCorrupt", "SourceUnreachable", "StepRefused", "Stopped"],
    ...["StoreUnreachable", "Waiting"],
  ]);
  expect(mayPass.filter((reason) => failureIn(reason, "")?.retry === false)).toEqual([]);
  expect(mayPass).toEqual(expect.arrayContaining(reasons.filter((reason) => failureIn(reason, "")?.retry)));
});

test("schedule plan: the reason of Failed decides, not that of another condition", () => {
  const failed = run(NOW, { failed: "NoQuorum" });
  const other = run(NOW, { failed: "WrongCredentials" }).status?.conditions?.map((each) => ({
    ...each,
    type: "Ready",
  }));
  const both = {
    ...failed,
    status: { ...failed.status, conditions: [...(other ?? []), ...(failed.status?.conditions ?? [])] },
  };
  expect(repeatAtMs(both, NOW)).toBe(NOW + 10 * MINUTE);
  expect(repeatAtMs({ ...both, status: { ...both.status, completionTime: "soon" } }, NOW)).toBeUndefined();
});

test("schedule plan: a created backup has the template's spec, and the schedule's label and uid", () => {
  const plan = planSchedule(due());
  expect(plan).toMatchObject({ because: "a backup was due at 2026-01-01T12:00:00Z" });
  expect(plan.next === "step" && plan.step.backup).toEqual({
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdBackup",
    metadata: {
      namespace: "foo",
      name: "nightly-20260101-120000",
      labels: {
        "app.kubernetes.io/managed-by": "etcd-cluster-operator",
        "etcd.improbable.io/backup-schedule-name": "nightly",
      },
      annotations: { "etcd.improbable.io/schedule-uid": "uid-of-schedule" },
    },
    spec: due().schedule.spec.backupTemplate.spec,
  });
});

test("schedule plan: backups and the archive get the template's labels and annotations, and keep the operator's own", () => {
  const own = { "app.kubernetes.io/managed-by": "another", "etcd.improbable.io/backup-schedule-name": "another" };
  const annotations = { "example.com/cost": "7", "etcd.improbable.io/schedule-uid": "another" };
  const { schedule: made } = due({ spec: { archive: {} } });
  const metadata = { labels: { team: "shop", ...own }, annotations };
  const spec = { ...made.spec, backupTemplate: { ...made.spec.backupTemplate, metadata } };
  const expected = {
    labels: {
      team: "shop",
      "app.kubernetes.io/managed-by": "etcd-cluster-operator",
      "etcd.improbable.io/backup-schedule-name": "nightly",
    },
    annotations: { "example.com/cost": "7", "etcd.improbable.io/schedule-uid": "uid-of-schedule" },
  };
  expect(backupFor({ schedule: { ...made, spec }, backups: [] }, NOW, 0).metadata).toMatchObject(expected);
  expect(archiveFor({ ...made, spec })?.metadata).toMatchObject(expected);
});

test("schedule plan: every rule decides a case", () => {
  const spoken = cases.map(({ given: snapshot }) => {
    const plan = planSchedule(snapshot);
    return plan.next === "settled"
      ? snapshot.schedule.metadata.deletionTimestamp
        ? "deleting"
        : "await-due"
      : plan.rule;
  });
  expect(SCHEDULE_RULES.map(({ name }) => name).filter((name) => !spoken.includes(name))).toEqual([]);
});

test("schedule plan: the first of two applicable rules decides", () => {
  const pairs: readonly (readonly [string, string, ScheduleSnapshot])[] = [
    ["deleting", "refuse-schedule", due({ deleting: true, spec: { timeZone: "Mars/Phobos" } })],
    ["refuse-schedule", "restart-count", due({ status: {}, spec: { timeZone: "Mars/Phobos" } })],
    ["restart-count", "release-object", due({ status: {}, spec: keepLast, backups: [older, newer] })],
    ["record-run", "replace-backup", due({ backups: [active], namesake: unlabelled, spec: { concurrencyPolicy: "Replace" } })],
    ["record-run", "name-taken", due({ namesake: unlabelled })],
    ["record-run", "release-object", due({ namesake: unlabelled, spec: keepLast, backups: [older, newer] })],
    ["replace-backup", "await-backup", due({ backups: [active], spec: { concurrencyPolicy: "Replace" } })],
    ["create-backup", "release-object", due({ spec: keepLast, backups: [older, newer] })],
    ["keep-object", "delete-backup", schedule({ spec: { successfulBackupsHistoryLimit: 1 }, backups: [given, newer] })],
    ["create-backup", "keep-object", due({ backups: [given, newer] })],
    ["keep-object", "release-object", schedule({ spec: { retention: { keepLast: 2 } }, backups: [run(NOW - 5 * HOUR), given, newer] })],
    ["delete-backup", "release-object", schedule({ spec: { failedBackupsHistoryLimit: 0, ...keepLast }, backups: [run(NOW - 3 * HOUR, { phase: "Failed" }), older, newer] })],
    ["release-object", "await-backup", due({ backups: [older, newer, active], spec: keepLast })],
    ["delete-backup", "await-backup", due({ backups: [run(NOW - 2 * HOUR, { phase: "Failed" }), active], spec: { failedBackupsHistoryLimit: 0 } })],
    ["await-backup", "name-taken", due({ backups: [active], namesake: theirs })],
    ["name-taken", "await-due", due({ namesake: theirs })],
    ["name-taken", "cluster-asleep", due({ namesake: theirs, cluster: ASLEEP })],
    ["release-object", "cluster-asleep", due({ cluster: ASLEEP, spec: keepLast, backups: [older, newer] })],
    ["cluster-asleep", "await-due", due({ cluster: ASLEEP })],
    ["keep-orphaned", "deleting", schedule({ deleting: true, left: [theirs] })],
    ["keep-orphaned", "refuse-schedule", due({ left: [theirs], spec: { timeZone: "Mars/Phobos" } })],
  ]; // biome-ignore format: a table
  for (const [first, second, snapshot] of pairs) {
    const having = SCHEDULE_RULES.filter((rule) => rule.decide(snapshot) !== undefined).map(({ name }) => name);
    expect(having).toEqual(expect.arrayContaining([first, second]));
    expect(having[0]).toBe(first);
  }
});

test("schedule plan: a backup from the schedule's first second does not block the run with that due time", () => {
  const status = counted({ schedule: "@hourly" });
  const plan = planSchedule(schedule({ status, spec: { immediate: true }, backups: [run(MADE_MS)] }));
  expect(planText(plan, stepText)).toBe("create-backup: createBackup nightly-20260101-120000");
});

test("schedule plan: a plan for thousands of backups reads each only a few times", () => {
  let asked = 0;
  const backups = Array.from({ length: 5_000 }, (_, n) => {
    const backup = run(NOW - (5_000 - n) * HOUR, { etcd: "a" });
    const { status } = backup;
    return Object.defineProperty(backup, "status", {
      get: () => {
        asked++;
        return status;
      },
    });
  });
  const retention = { keepLast: 7, keepDaily: 7, keepWeekly: 4, keepMonthly: 12 };
  const annotations = { [DRY_RUN_ANNOTATION]: JSON.stringify({ retention }) };
  const plan = planSchedule(schedule({ spec: { retention }, backups, annotations }));
  expect(plan).toMatchObject({ rule: "release-object", step: { backup: backups[0], keepers: [backups.at(-1)] } });
  expect(dryRunOf(schedule({ spec: { retention }, backups, annotations }))?.more).toBeGreaterThan(4_000);
  expect(asked / backups.length).toBeLessThan(100); // Sorting reads each log(n) times; comparing all pairs would be 5,000.
});
