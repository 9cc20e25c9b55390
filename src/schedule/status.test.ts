import { describe, expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupScheduleStatus } from "#api/v1beta1/schedule.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { kstatusOf } from "#kit/kstatus.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { archiveOf, counted, etcdBackupSchedule, MADE_MS, run, schedule, source } from "#kit/snapshots/schedule.ts";
import { planSchedule } from "#schedule/plan.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import { failingStatus, scheduleStatus } from "#schedule/status.ts";

const HOUR = 3_600_000;
const STATUS = counted({}, { lastScheduleTime: rfc3339(NOW - HOUR), runs: 3 });

function statusOf(snapshot: ScheduleSnapshot): EtcdBackupScheduleStatus {
  return scheduleStatus(snapshot, planSchedule(snapshot));
}

function conditionTexts(snapshot: ScheduleSnapshot): readonly string[] {
  const { conditions = [] } = statusOf(snapshot);
  return conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`);
}

const NONE = "BackupReady False NoBackupYet: no backup has ended yet";
const ALL_STAY = "; all completed EtcdBackups and their objects stay, since spec has neither retention nor successfulBackupsHistoryLimit"; // biome-ignore format: a line
const NEXT = `Ready True Scheduled: the next backup is due at 2026-01-01T13:00:00Z${ALL_STAY}`;
const WAITS =
  "Ready True BackupRunning: a backup was due at 2026-01-01T12:10:00Z, but EtcdBackup nightly-20260101-110000 has not ended";
const ASLEEP = source({ replicas: 0 }, true);
const SLEEPS = "EtcdCluster my-etcd sleeps (spec.replicas is 0); no backups are made until it is woken";
const active = run(NOW - HOUR, { phase: "active" });

describe("conditions BackupReady and Ready show", () => {
  test.each<[string, ScheduleSnapshot, readonly string[]]>([
    ["no backup yet and the next due time before the first run", schedule(), [NONE, NEXT]],
    ["no due time yet before the schedule is recorded", schedule({ status: {} }), [NONE, "Ready True Scheduled: the first due time is determined next"]],
    ["a suspended schedule", schedule({ spec: { suspend: true } }), [NONE, "Ready True Suspended: spec.suspend is true: no backups are made"]],
    ["an invalid time zone", schedule({ spec: { timeZone: "Mars" } }), [NONE, 'Ready False SpecRefused: spec.timeZone is "Mars"; it must be the name of a time zone that the operator knows, such as Europe/Berlin or UTC', 'Stalled True SpecRefused: spec.timeZone is "Mars"; it must be the name of a time zone that the operator knows, such as Europe/Berlin or UTC']],
    ["an invalid time zone rather than a suspension", schedule({ spec: { timeZone: "Mars", suspend: true } }), [NONE, 'Ready False SpecRefused: spec.timeZone is "Mars"; it must be the name of a time zone that the operator knows, such as Europe/Berlin or UTC', 'Stalled True SpecRefused: spec.timeZone is "Mars"; it must be the name of a time zone that the operator knows, such as Europe/Berlin or UTC']],
    ["a run that waits for a running backup", schedule({ status: STATUS, backups: [active] }), [NONE, "Ready True BackupRunning: a backup was due at 2026-01-01T12:00:00Z, but EtcdBackup nightly-20260101-110000 has not ended"]],
    ["a running backup for which no run waits", schedule({ backups: [active] }), [NONE, NEXT]],
    ["the latest good backup", schedule({ backups: [run(NOW - HOUR, { phase: "Failed" }), run(NOW)] }), ["BackupReady True BackupCompleted: EtcdBackup nightly-20260101-120000 is stored as s3://backups/nightly-20260101-120000.db", NEXT]],
    ["the latest good backup while the next is running", schedule({ backups: [run(NOW - HOUR), run(NOW, { phase: "active" })] }), ["BackupReady True BackupCompleted: EtcdBackup nightly-20260101-110000 is stored as s3://backups/nightly-20260101-110000.db", NEXT]],
    ["the latest backup when it has failed", schedule({ backups: [run(NOW - HOUR), run(NOW, { phase: "Failed" })] }), ["BackupReady False BackupFailed: EtcdBackup nightly-20260101-120000 has failed: NoSpace: the bucket is full", NEXT]],
    ["the next due time alone with a retention", schedule({ spec: { retention: { keepLast: 3 } }, backups: [run(NOW)] }), ["BackupReady True BackupCompleted: EtcdBackup nightly-20260101-120000 is stored as s3://backups/nightly-20260101-120000.db", NEXT.replace(ALL_STAY, "")]],
    ["the next due time alone with a history limit", schedule({ spec: { successfulBackupsHistoryLimit: 3 }, backups: [run(NOW)] }), ["BackupReady True BackupCompleted: EtcdBackup nightly-20260101-120000 is stored as s3://backups/nightly-20260101-120000.db", NEXT.replace(ALL_STAY, "")]],
    ["when a failed run is repeated", schedule({ backups: [run(NOW, { failed: "NoQuorum" })] }), ["BackupReady False BackupFailed: EtcdBackup nightly-20260101-120000 has failed: NoQuorum: the bucket is full; it is repeated at 2026-01-01T12:10:00Z", `Ready True Scheduled: the next backup is due at 2026-01-01T12:10:00Z${ALL_STAY}`]],
    ["nothing about a repetition when the next run is due at the same time", schedule({ backups: [run(NOW, { failed: "NoQuorum", endedMs: NOW + HOUR / 2 })], atMs: NOW + HOUR / 2 }), ["BackupReady False BackupFailed: EtcdBackup nightly-20260101-120000 has failed: NoQuorum: the bucket is full", NEXT]],
    ["no next time of a repetition that is due now", schedule({ backups: [run(NOW, { failed: "NoQuorum" }), active], atMs: NOW + HOUR / 6 }), ["BackupReady False BackupFailed: EtcdBackup nightly-20260101-120000 has failed: NoQuorum: the bucket is full", WAITS]],
    ["a repetition that is running", schedule({ status: counted({}, { lastScheduleTime: rfc3339(NOW + HOUR / 6), runs: 4 }), backups: [run(NOW, { failed: "NoQuorum" }), run(NOW + HOUR / 6, { phase: "active" })], atMs: NOW + HOUR / 5 }), ["BackupReady False BackupFailed: EtcdBackup nightly-20260101-120000 has failed: NoQuorum: the bucket is full", NEXT]],
    ["a repetition that is stored", schedule({ status: counted({}, { lastScheduleTime: rfc3339(NOW + HOUR / 6), runs: 4 }), backups: [run(NOW, { failed: "NoQuorum" }), run(NOW + HOUR / 6)], atMs: NOW + HOUR / 5 }), ["BackupReady True BackupCompleted: EtcdBackup nightly-20260101-121000 is stored as s3://backups/nightly-20260101-121000.db", NEXT]],
    ["no backup when the only good one is being deleted", schedule({ backups: [run(NOW, { deleting: true })] }), [NONE, NEXT]],
    ["the latest backup when it is defective", schedule({ backups: [run(NOW - HOUR), run(NOW, { doubted: "VerificationFailed" })] }), ["BackupReady False BackupFailed: EtcdBackup nightly-20260101-120000 was stored, but failed its verification: VerificationFailed: a key differs", NEXT]],
    ["the latest backup when its object is gone", schedule({ backups: [run(NOW - HOUR), run(NOW, { missing: "NoSuchObject" })] }), ["BackupReady False ObjectMissing: EtcdBackup nightly-20260101-120000 cannot be restored (NoSuchObject): there is no object k", NEXT]],
    ["a good backup after one with a missing object", schedule({ backups: [run(NOW - HOUR, { missing: "NoSuchObject" }), run(NOW)] }), ["BackupReady True BackupCompleted: EtcdBackup nightly-20260101-120000 is stored as s3://backups/nightly-20260101-120000.db", NEXT]],
    ["a run that missed its deadline", schedule({ status: STATUS, spec: { startingDeadlineSeconds: 60 }, backups: [run(NOW - HOUR)], atMs: NOW + 61_000 }), ["BackupReady False RunMissed: the backup that was due at 2026-01-01T12:00:00Z did not start within 60 s", NEXT]],
    ["a sleeping cluster", schedule({ cluster: ASLEEP, backups: [run(NOW)] }), [`BackupReady True ClusterAsleep: EtcdBackup nightly-20260101-120000 is stored as s3://backups/nightly-20260101-120000.db; ${SLEEPS}`, `Ready True ClusterAsleep: ${SLEEPS}`]],
    ["a sleeping cluster for which a run waits", schedule({ cluster: ASLEEP, status: STATUS, spec: { startingDeadlineSeconds: 60 }, backups: [run(NOW - HOUR)], atMs: NOW + 61_000 }), [`BackupReady True ClusterAsleep: EtcdBackup nightly-20260101-110000 is stored as s3://backups/nightly-20260101-110000.db; ${SLEEPS}`, `Ready True ClusterAsleep: ${SLEEPS}; the backup that was due at 2026-01-01T12:00:00Z waits`]],
    ["a sleeping cluster without a backup", schedule({ cluster: ASLEEP }), [`${NONE}; ${SLEEPS}`, `Ready True ClusterAsleep: ${SLEEPS}`]],
    ["a failed backup of a sleeping cluster", schedule({ cluster: ASLEEP, backups: [run(NOW, { phase: "Failed" })] }), ["BackupReady False BackupFailed: EtcdBackup nightly-20260101-120000 has failed: NoSpace: the bucket is full", `Ready True ClusterAsleep: ${SLEEPS}`]],
    ["a suspended schedule of a sleeping cluster", schedule({ cluster: ASLEEP, spec: { suspend: true } }), [`${NONE}; ${SLEEPS}`, "Ready True Suspended: spec.suspend is true: no backups are made"]],
  ])("%s", (_, snapshot, expected) => expect(conditionTexts(snapshot)).toEqual(expected)); // biome-ignore format: a table

  test("Stalled until the spec is no longer refused", () => {
    const refused = schedule({ spec: { timeZone: "Mars" } });
    const before = statusOf(refused);
    expect(kstatusOf({ ...refused.schedule, status: before })).toBe("Failed");
    const edited = schedule({ status: before });
    const status = statusOf(edited);
    expect(status.conditions?.find(({ type }) => type === "Stalled")).toMatchObject({ status: "False" });
    expect(kstatusOf({ ...edited.schedule, status })).toBe("Current");
    const suspended = schedule({ spec: { suspend: true } });
    expect(kstatusOf({ ...suspended.schedule, status: statusOf(suspended) })).toBe("Current");
  });

  /** BackupReady one and a half hours after the latest good backup, which is of eleven, or as given. */
  const ready = (given: Parameters<typeof schedule>[0]) =>
    conditionTexts(schedule({ backups: [run(NOW - HOUR)], ...given }))[0];
  const made = (ms: number) => counted({}, { lastScheduleTime: rfc3339(ms), runs: 3 });
  const held = (ms: number) => ({ ...made(NOW - HOUR), heldTime: rfc3339(ms) });
  const LATER = NOW + HOUR / 2;
  const GOOD = "BackupReady True BackupCompleted: EtcdBackup nightly-20260101-110000 is stored as s3://backups/nightly-20260101-110000.db"; // biome-ignore format: a line
  const overdue = (hour: number) => `BackupReady False BackupOverdue: the run that was due at 2026-01-01T${hour}:00:00Z has no good backup, nor has a later one; the latest is EtcdBackup nightly-20260101-110000`; // biome-ignore format: a line
  const stored = (atMs: number, completionTime: string) => {
    const backup = run(atMs);
    return { ...backup, status: { ...backup.status, completionTime } };
  };
  const Replace = { concurrencyPolicy: "Replace" };

  test.each<[string, Parameters<typeof schedule>[0], string]>([
    ["True after a failed run was deleted", { status: made(NOW), atMs: LATER }, overdue(12)],
    ["True after a failed run was deleted, while the next is running", { status: made(NOW + HOUR), atMs: LATER + HOUR, backups: [run(NOW - HOUR), run(NOW + HOUR, { phase: "active" })] }, overdue(12)],
    ["True after a failed run was deleted, before the next is created", { status: made(NOW), atMs: NOW + HOUR }, overdue(12)],
    ["False while a run that replaced another is running", { status: made(NOW), atMs: LATER, spec: Replace, backups: [run(NOW - HOUR), run(NOW, { phase: "active" })] }, GOOD],
    ["True when a run replaced another that had replaced a third", { status: made(NOW + HOUR), atMs: LATER + HOUR, spec: Replace, backups: [run(NOW - HOUR), run(NOW + HOUR, { phase: "active" })] }, overdue(12)],
    ["False while the run is running", { status: made(NOW), atMs: LATER, backups: [run(NOW - HOUR), run(NOW, { phase: "active" })] }, GOOD],
    ["True when the run still runs and the next is due", { status: made(NOW), atMs: LATER + HOUR, backups: [run(NOW - HOUR), run(NOW, { phase: "active" })] }, overdue(12)],
    ["False while a run takes longer than the interval", { status: made(NOW), atMs: NOW + HOUR, backups: [stored(NOW - HOUR, rfc3339(NOW + HOUR / 4)), run(NOW, { phase: "active" })] }, GOOD],
    ["False before a run is created", { status: made(NOW - HOUR) }, GOOD],
    ["True after several missed runs, before a run is created", { status: made(NOW - HOUR), atMs: NOW + HOUR }, overdue(12)],
    ["False after runs that were missed before an edit", { status: { ...made(NOW - HOUR), counted: { schedule: "@hourly", timeZone: "UTC", since: rfc3339(NOW) } }, atMs: NOW + HOUR }, GOOD],
    ["False when the latest backup has lost its label", { status: made(NOW), atMs: LATER, lastRun: run(NOW, { metadata: { labels: {} } }) }, GOOD],
    ["False when the latest good backup has lost its label, while the next is running", { status: made(NOW + HOUR), atMs: LATER + HOUR, backups: [run(NOW - HOUR), run(NOW + HOUR, { phase: "active" })], wantedRun: run(NOW, { metadata: { labels: {} } }) }, GOOD],
    ["True when the latest backup has lost its label and failed, while the next is running", { status: made(NOW + HOUR), atMs: LATER + HOUR, backups: [run(NOW - HOUR), run(NOW + HOUR, { phase: "active" })], wantedRun: run(NOW, { phase: "Failed", metadata: { labels: {} } }) }, overdue(12)],
    ["True when the latest backup has lost its label and failed", { status: made(NOW), atMs: LATER, lastRun: run(NOW, { phase: "Failed", metadata: { labels: {} } }) }, overdue(12)],
    ["True when the latest backup is dated far ahead", { status: made(NOW), atMs: LATER, backups: [run(NOW - HOUR, { etcd: "a" }), run(NOW + 25 * HOUR, { etcd: "a", revision: "11" })] }, overdue(12)],
    ["True when the only backup is dated far ahead", { status: made(NOW), atMs: LATER, backups: [run(NOW + 25 * HOUR)] }, "BackupReady False BackupOverdue: the run that was due at 2026-01-01T12:00:00Z has no good backup, nor has a later one; there is no other backup"],
    ["False when the latest backup is dated a day ahead", { status: made(NOW), atMs: LATER, backups: [run(LATER + 24 * HOUR)] }, "BackupReady True BackupCompleted: EtcdBackup nightly-20260102-123000 is stored as s3://backups/nightly-20260102-123000.db"],
    ["True when the two latest backups are listed in the wrong order", { status: made(NOW), atMs: LATER, backups: [run(NOW - HOUR), run(NOW - 2 * HOUR)] }, overdue(12)],
    ["True after a run failed and was deleted before an edit", { status: { ...made(NOW), counted: { schedule: "@hourly", timeZone: "UTC", since: rfc3339(NOW + 60_000) } }, atMs: NOW + HOUR }, overdue(12)],
    ["True after a failed run was deleted, when the run after the next is due", { status: made(NOW), atMs: NOW + 2 * HOUR }, overdue(13)],
    ["False while an active backup of an unknown run is running", { status: counted({}), atMs: LATER, spec: { schedule: "@yearly" }, backups: [run(NOW - HOUR, { metadata: { name: "a" } }), run(NOW, { phase: "active", metadata: { name: "b" } })] }, "BackupReady True BackupCompleted: EtcdBackup a is stored as s3://backups/nightly-20260101-110000.db"],
    ["False when the completion time is invalid", { status: made(NOW), atMs: LATER, backups: [stored(NOW, "soon")] }, "BackupReady True BackupCompleted: EtcdBackup nightly-20260101-120000 is stored as s3://backups/nightly-20260101-120000.db"],
    ["False while the schedule is suspended", { status: made(NOW - HOUR), atMs: NOW + 9 * HOUR, spec: { suspend: true } }, GOOD],
    ["True while the schedule is suspended after a failed run was deleted", { status: made(NOW), atMs: NOW + 9 * HOUR, spec: { suspend: true } }, overdue(12)],
    ["False when the cluster slept until now", { status: held(NOW + HOUR), atMs: NOW + HOUR }, GOOD],
    ["False when the cluster slept until now, and the run's deadline has passed", { status: held(NOW + HOUR), atMs: NOW + HOUR + 61_000, spec: { startingDeadlineSeconds: 60 } }, GOOD],
    ["True when the cluster slept until the run before", { status: held(NOW), atMs: NOW + HOUR + 61_000, spec: { startingDeadlineSeconds: 60 } }, "BackupReady False RunMissed: the backup that was due at 2026-01-01T13:00:00Z did not start within 60 s"],
    ["True after the cluster slept once, and then a failed run was deleted", { status: { ...held(NOW), ...made(NOW) }, atMs: LATER }, overdue(12)],
  ])("BackupOverdue or RunMissed is %s", (_, given, expected) => expect(ready(given)).toBe(expected)); // biome-ignore format: a table

  test("the archive's progress and problem are in the status", () => {
    const archive = { from: "5", revision: "20", time: rfc3339(NOW), gaps: 1 };
    const condition = (reason: string) => [
      {
        ...{ type: "Complete", status: "False" as const, reason, message: "no route" },
        observedGeneration: 1,
        lastTransitionTime: "",
      },
    ];
    const of = (status: Parameters<typeof archiveOf>[0]) =>
      statusOf(schedule({ spec: { archive: {} }, archive: archiveOf(status) })).archive;
    expect(of({ archive, conditions: condition("Archiving") })).toEqual({ name: "nightly-changes", ...archive });
    const stalled = { name: "nightly-changes", ...archive, message: "no route" };
    expect(of({ archive, conditions: condition("ArchiveStalled") })).toEqual(stalled);
    expect(of({})).toBeUndefined();
    expect(statusOf(schedule())).not.toHaveProperty("archive");
  });

  test("a refused step and a taken name are shown in condition Ready", () => {
    const snapshot = schedule({ status: STATUS });
    const reports = (code: string) => [{ rule: "create-backup", because: "no", code, is: "refused" as const }];
    const ready = (plan: Parameters<typeof scheduleStatus>[1]) =>
      scheduleStatus(snapshot, plan).conditions?.find(({ type }) => type === "Ready");
    expect(ready({ next: "settled", reports: reports("KubeForbidden") })).toMatchObject({
      status: "False",
      reason: "StepRefused",
      message: "create-backup: no",
      observedGeneration: 1,
      lastTransitionTime: rfc3339(NOW),
    });
    expect(ready({ next: "settled", reports: reports("KubeAlreadyExists") })?.reason).toBe("NameTaken");
    expect(ready({ next: "settled", reports: [{ ...reports("x")[0]!, is: "delayed" }] })?.reason).toBe("Scheduled");
    const taken = { next: "wait", rule: "name-taken", because: "b", recheckAfterMs: 1, warn: true } as const;
    expect(ready(taken)).toMatchObject({ status: "False", reason: "NameTaken", message: "b" });
    expect(ready({ ...taken, rule: "await-backup" })?.reason).toBe("Scheduled");
  });
});

describe("the status records", () => {
  const { conditions: _, ...first } = statusOf(schedule({ status: {} }));

  test("the creation as the start of counting at the first observation", () => {
    const since = rfc3339(MADE_MS);
    expect(first).toEqual({
      observedGeneration: 1,
      counted: { schedule: "@hourly", timeZone: "UTC", since },
      runs: 0,
      active: [],
    });
  });

  test("an edit as a new start of counting, and keeps the number of runs", () => {
    const edited = statusOf(schedule({ status: STATUS, spec: { schedule: "@daily" } }));
    expect(edited).toMatchObject({
      counted: { schedule: "@daily", timeZone: "UTC", since: rfc3339(NOW) },
      lastScheduleTime: rfc3339(NOW - HOUR),
      runs: 3,
    });
    const zone = statusOf(schedule({ status: STATUS, spec: { timeZone: "Europe/Berlin" } }));
    expect(zone.counted).toEqual({ schedule: "@hourly", timeZone: "Europe/Berlin", since: rfc3339(NOW) });
  });

  test("the window of the starts, and the start as the next due time", () => {
    const window = statusOf(schedule({ status: STATUS, spec: { startWindow: "30m" } }));
    expect(window.counted).toEqual({ schedule: "@hourly", timeZone: "UTC", startWindow: "30m", since: rfc3339(NOW) });
    const next = statusOf(schedule({ status: { ...STATUS, ...window }, spec: { startWindow: "30m" } }));
    expect(next.nextScheduleTime).toBe("2026-01-01T12:21:59Z");
    expect(next.conditions?.find(({ type }) => type === "Ready")?.message).toContain("due at 2026-01-01T12:21:59Z");
  });

  test("no start of counting while the schedule is suspended or invalid", () => {
    const suspended = statusOf(schedule({ status: STATUS, spec: { suspend: true } }));
    expect(suspended).not.toHaveProperty("counted");
    expect(suspended).not.toHaveProperty("nextScheduleTime");
    expect(statusOf(schedule({ status: suspended })).counted?.since).toBe(rfc3339(NOW));
    expect(statusOf(schedule({ status: STATUS, spec: { timeZone: "Mars" } }))).not.toHaveProperty("counted");
  });

  test("the number of runs, the latest and the next run", () => {
    const snapshot = schedule({ status: STATUS, backups: [run(NOW)] });
    expect(statusOf(snapshot)).toMatchObject({
      counted: STATUS.counted,
      lastScheduleTime: "2026-01-01T12:00:00Z",
      nextScheduleTime: "2026-01-01T13:00:00Z",
      runs: 4,
    });
  });

  test("a run with a backup that has lost its label", () => {
    const snapshot = schedule({ status: STATUS, namesake: run(NOW, { metadata: { labels: {} } }) });
    expect(statusOf(snapshot)).toMatchObject({ lastScheduleTime: "2026-01-01T12:00:00Z", runs: 4 });
    const theirs = schedule({ status: STATUS, namesake: run(NOW, { metadata: { annotations: {} } }) });
    expect(statusOf(theirs)).toMatchObject({ lastScheduleTime: "2026-01-01T11:00:00Z", runs: 3 });
  });

  test("the latest run that waited for its sleeping cluster", () => {
    const asleep = statusOf(schedule({ status: STATUS, cluster: ASLEEP }));
    expect(asleep).toMatchObject({ heldTime: "2026-01-01T12:00:00Z", lastScheduleTime: "2026-01-01T11:00:00Z" });
    const woken = statusOf(schedule({ status: asleep, backups: [run(NOW)], atMs: NOW + HOUR }));
    expect(woken).toMatchObject({ heldTime: "2026-01-01T12:00:00Z", lastScheduleTime: "2026-01-01T12:00:00Z" });
    expect(statusOf(schedule({ status: { ...STATUS, heldTime: rfc3339(NOW + 25 * HOUR) } }))).not.toHaveProperty(
      "heldTime",
    );
    const dayAhead = rfc3339(NOW + 24 * HOUR);
    expect(statusOf(schedule({ status: { ...STATUS, heldTime: dayAhead } })).heldTime).toBe(dayAhead);
    expect(statusOf(schedule({ status: asleep, spec: { suspend: true } })).heldTime).toBe("2026-01-01T12:00:00Z");
    expect(statusOf(schedule({ status: STATUS }))).not.toHaveProperty("heldTime");
    expect(statusOf(schedule({ status: asleep, cluster: ASLEEP, atMs: NOW + HOUR })).heldTime).toBe(
      "2026-01-01T13:00:00Z",
    );
  });

  test("nothing new while the schedule is being deleted", () => {
    expect(statusOf(schedule({ status: STATUS, deleting: true, backups: [run(NOW)] }))).toBe(STATUS);
    expect(statusOf({ ...schedule({ deleting: true }), schedule: { ...etcdBackupSchedule({ deleting: true }), status: undefined as never } })).toEqual({}); // biome-ignore format: one thing
  });
});

describe("the status shows", () => {
  const GOOD = { name: "nightly-20260101-110000", creationTime: "2026-01-01T11:00:00Z", objectURL: "s3://backups/nightly-20260101-110000.db" }; // biome-ignore format: one thing

  test("the latest good backup with its facts", () => {
    const backups = [run(NOW - 2 * HOUR), run(NOW - HOUR, { etcd: "a" }), run(NOW, { phase: "Failed" })];
    expect(statusOf(schedule({ backups })).lastSuccessful).toEqual({ ...GOOD, revision: "12" });
    expect(statusOf(schedule({ backups: [run(NOW - HOUR)] })).lastSuccessful).toEqual(GOOD);
    const bare = run(NOW - HOUR);
    const { name, creationTime } = GOOD;
    const nothing = { ...bare, status: { phase: "Completed" as const } };
    expect(statusOf(schedule({ backups: [nothing] })).lastSuccessful).toStrictEqual({ name, creationTime });
  });

  test("the latest backup by creation time, whatever its name or place in the list", () => {
    const made = { creationTimestamp: rfc3339(NOW) };
    const backups = [run(NOW - 3 * HOUR, { metadata: made }), run(NOW - 2 * HOUR), run(NOW - HOUR)];
    expect(statusOf(schedule({ backups })).lastSuccessful?.name).toBe("nightly-20260101-090000");
    const ordered = [run(NOW - HOUR), run(NOW - 2 * HOUR)];
    expect(statusOf(schedule({ backups: ordered })).lastSuccessful?.name).toBe("nightly-20260101-110000");
  });

  test("the latest backup by revision when the clock was set back", () => {
    const ahead = run(NOW + 400 * 24 * HOUR, { etcd: "a", revision: "9" });
    const backups = [ahead, run(NOW - HOUR, { etcd: "a", revision: "10" }), run(NOW - 2 * HOUR, { etcd: "b" })];
    expect(statusOf(schedule({ backups })).lastSuccessful).toEqual({ ...GOOD, revision: "10" });
  });

  test("the latest verified backup", () => {
    const backups = [run(NOW - 2 * HOUR, { verified: true }), run(NOW - HOUR, { verified: true }), run(NOW)];
    const { name, creationTime } = GOOD;
    expect(statusOf(schedule({ backups })).lastVerified).toEqual({ name, creationTime });
    const doubtful = run(NOW - HOUR, { verified: true });
    doubtful.status!.conditions![0]!.status = "Unknown";
    expect(statusOf(schedule({ backups: [doubtful] }))).not.toHaveProperty("lastVerified");
    const other = run(NOW - HOUR, { verified: true });
    other.status!.conditions![0]!.type = "Complete";
    expect(statusOf(schedule({ backups: [other] }))).not.toHaveProperty("lastVerified");
  });

  test("recorded backups that no longer exist", () => {
    const made = { name: "n", creationTime: rfc3339(NOW) };
    const status = { ...STATUS, lastSuccessful: made, lastVerified: made };
    expect(statusOf(schedule({ status }))).toMatchObject({ lastSuccessful: made, lastVerified: made });
    expect(statusOf(schedule())).not.toHaveProperty("lastSuccessful");
  });

  test("the active backups", () => {
    expect(statusOf(schedule({ backups: [run(NOW - 2 * HOUR), active] })).active).toEqual(["nightly-20260101-110000"]);
  });
});

test("the status shows the dry run while its annotation exists", () => {
  const annotations = { [DRY_RUN_ANNOTATION]: "{}" };
  expect(statusOf(schedule({ annotations }))).toMatchObject({ dryRun: { deletes: [] } });
  expect(statusOf(schedule())).not.toHaveProperty("dryRun");
});

test("an unchanged condition keeps its transition time, and the observed generation is the spec's", () => {
  const first = statusOf(schedule());
  const later = statusOf(schedule({ status: first, atMs: NOW + 60_000 }));
  expect(later.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([rfc3339(NOW), rfc3339(NOW)]);
  const snapshot = schedule();
  const { generation: _, ...metadata } = snapshot.schedule.metadata;
  const bare = statusOf({ ...snapshot, schedule: { ...snapshot.schedule, metadata } });
  expect([bare.observedGeneration, bare.conditions?.[0]?.observedGeneration]).toEqual([0, 0]);
});

test("an observation's error sets Ready to Unknown, and the other fields stay", () => {
  const failing = failingStatus(etcdBackupSchedule({ status: STATUS }), "it broke", NOW);
  expect(failing).toMatchObject({
    ...STATUS,
    conditions: [
      { type: "Ready", status: "Unknown", reason: "InternalError", message: "it broke", observedGeneration: 1 },
    ],
  });
  const withStatus = failingStatus(etcdBackupSchedule({ status: statusOf(schedule()) }), "it broke", NOW);
  expect(withStatus.conditions?.map(({ type }) => type)).toEqual(["BackupReady", "Ready"]);
  const { status: __, ...never } = etcdBackupSchedule();
  expect(failingStatus(never, "it broke", NOW).conditions).toHaveLength(1);
});

describe("a backup with a missing object", () => {
  const made = (atMs: number) => ({ name: run(atMs).metadata.name, creationTime: rfc3339(atMs) });
  const known = counted({}, { lastSuccessful: made(NOW), lastVerified: made(NOW) });
  const last = (...backups: readonly EtcdBackup[]) => {
    const { lastSuccessful, lastVerified } = statusOf(schedule({ status: known, backups }));
    return [lastSuccessful?.name, lastVerified?.name];
  };
  const [early, late] = [made(NOW - HOUR).name, made(NOW).name];
  const gone = run(NOW, { missing: "NoSuchObject", verified: true });

  test("is no longer the latest good or verified one", () => {
    expect(last(run(NOW, { verified: true }))).toEqual([late, late]);
    expect(last(run(NOW))).toEqual([late, late]);
    expect(last(gone)).toEqual([undefined, undefined]);
    expect(last(run(NOW - HOUR, { verified: true }), gone)).toEqual([early, early]);
    expect(last(run(NOW, { doubted: "VerificationFailed" }))).toEqual([undefined, undefined]);
  });

  test("stays recorded when its EtcdBackup is deleted or being deleted", () => {
    expect(last()).toEqual([late, late]);
    expect(last(run(NOW, { missing: "NoSuchObject", deleting: true }))).toEqual([late, late]);
    expect(last(run(NOW - HOUR, { missing: "NoSuchObject" }))).toEqual([late, late]);
  });
});
