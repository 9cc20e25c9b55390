import { expect, test } from "vitest";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { archiveOf, counted, MADE_MS, run, schedule, source } from "#kit/snapshots/schedule.ts";
import { planText } from "#kit/tables/plan-text.ts";
import { archiveFor } from "#schedule/desired/backup.ts";
import { planSchedule, SCHEDULE_RULES } from "#schedule/plan.ts";
import { beginArchive, closeGap } from "#schedule/rules/archive.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import { scheduleStatus } from "#schedule/status.ts";

// An EtcdBackupSchedule with spec.archive: an EtcdBackup that runs for years, and the backups that its changes extend.

const HOUR = 3_600_000;
/** Half an hour after the latest run. */
const LATER = NOW + HOUR / 2;
const ARCHIVE = { spec: { archive: {} } };
const reported = { clusterID: "a", from: "14", revision: "20", time: rfc3339(NOW), gaps: 1 };

/** The archive has a gap before revision 14, and backups hold revision 12. */
function gap(given: Parameters<typeof schedule>[0] = {}): ScheduleSnapshot {
  return schedule({ ...ARCHIVE, archive: archiveOf({ archive: reported }), atMs: LATER, ...given });
}

function text(snapshot: ScheduleSnapshot): string {
  return planText(planSchedule(snapshot), ({ do: what, backup }) => `${what} ${backup.metadata.name}`);
}

test("no archive is created while one exists, or while the previous one is being deleted", () => {
  expect(beginArchive.decide(schedule({ ...ARCHIVE, archive: archiveOf() }))).toBeUndefined();
  const { metadata, ...rest } = archiveOf();
  const going = { ...rest, metadata: { ...metadata, deletionTimestamp: rfc3339(NOW) } };
  expect(text(schedule({ archive: going }))).toBe("settled");
});

test("an archive with a completion time that has not failed is not replaced", () => {
  const archive = archiveOf({ phase: "Completed", completionTime: rfc3339(NOW - HOUR) });
  expect(text(schedule({ ...ARCHIVE, archive }))).toBe("settled");
});

const CLOSED = "close-gap: createBackup nightly-20260101-123000";
const OURS = source({});
const [PLACE, OTHER] = [`foo/my-etcd/${OURS.metadata.uid}`, "foo/my-etcd/another"];
/** An archive as old as the schedule, and a backup beside it. */
function stored(folder: string, backup: EtcdBackup): EtcdBackup {
  return { ...backup, status: { ...backup.status, objectKey: `${folder}/${backup.metadata.name}.db` } };
}
const archiveAt = (folder: string, madeMs = MADE_MS, status: object = {}): EtcdBackup => {
  const made = archiveOf({ objectKey: `${folder}/changes`, ...status });
  const { backupTemplate } = schedule(ARCHIVE).schedule.spec;
  const spec = archiveFor(schedule(ARCHIVE).schedule)?.spec ?? backupTemplate.spec;
  return { ...made, spec, metadata: { ...made.metadata, creationTimestamp: rfc3339(madeMs) } };
};
const ENDED = "end-archive: deleteBackup nightly-changes";
/** The archive lies in PLACE, and has a gap before revision 13. */
const covered = (backup: EtcdBackup) =>
  gap({ archive: archiveAt(PLACE, MADE_MS, { archive: { ...reported, from: "13" } }), backups: [backup] });
const inBucket = (bucket: string, backup: EtcdBackup): EtcdBackup => ({
  ...backup,
  spec: { ...backup.spec, destination: { s3: { bucket } as never } },
});

test.each<[string, ScheduleSnapshot, string]>([
  ["continues while it is in its EtcdCluster's folder", schedule({ ...ARCHIVE, archive: archiveAt(PLACE), cluster: OURS }), "settled"],
  ["continues below a prefix", schedule({ ...ARCHIVE, archive: archiveAt(`a/b/${PLACE}`), cluster: OURS }), "settled"],
  ["ends when the EtcdCluster was recreated", schedule({ ...ARCHIVE, archive: archiveAt(OTHER), cluster: OURS }), ENDED],
  ["ends when its EtcdCluster was unknown at its creation", schedule({ ...ARCHIVE, archive: archiveAt("foo/my-etcd/unknown"), cluster: OURS }), ENDED],
  ["continues while the EtcdCluster does not exist", schedule({ ...ARCHIVE, archive: archiveAt(OTHER) }), "settled"],
  ["continues while the status does not show its folder", schedule({ ...ARCHIVE, archive: { ...archiveAt(OTHER), status: {} }, cluster: OURS }), "settled"],
  ["does not continue from a backup in another folder, so a new backup is made", covered(stored(OTHER, run(NOW - HOUR, { etcd: "a" }))), CLOSED],
  ["does not continue from a backup in another bucket, so a new backup is made", covered(inBucket("another", stored(PLACE, run(NOW - HOUR, { etcd: "a" })))), CLOSED],
  ["continues from a backup in the same folder", covered(stored(PLACE, run(NOW - HOUR, { etcd: "a" }))), "settled"],
  ["continues from a backup in an unknown folder", covered(run(NOW - HOUR, { etcd: "a" })), "settled"],
])("an archive %s", (_, snapshot, expected) => {
  expect(text(snapshot)).toBe(expected);
}); // biome-ignore format: a table

test("a foreign EtcdBackup with the archive's name is reported, wherever it stores", () => {
  const archiveNamesake = archiveOf();
  const snapshot = { ...schedule({ ...ARCHIVE, rival: archiveNamesake }), archiveNamesake };
  const { conditions = [] } = scheduleStatus(snapshot, planSchedule(snapshot));
  expect(conditions.find(({ type }) => type === "Ready")).toMatchObject({
    reason: "NameTaken",
    message: expect.stringContaining("delete it and a new one is created, which keeps what is stored"),
  });
});

test("an archive of another schedule in the same place prevents a new archive, and is reported", () => {
  const rival = archiveOf();
  const named = { ...rival, metadata: { ...rival.metadata, name: "daily-changes" } };
  for (const [archive, words] of [
    [undefined, "waits"],
    [archiveAt(PLACE), "is not safe"],
  ] as const) {
    const snapshot = schedule({ ...ARCHIVE, rival: named, ...(archive && { archive }) });
    const plan = planSchedule(snapshot);
    expect(plan.next).toBe("settled");
    const { conditions = [] } = scheduleStatus(snapshot, plan);
    expect(conditions.find(({ type }) => type === "Ready")).toMatchObject({
      status: "False",
      reason: "ArchivePlaceTaken",
      message: expect.stringContaining(
        `spec.archive ${words}: EtcdBackup daily-changes stores the same etcd's changes in the same place`,
      ),
    });
  }
});

test.each<[string, ScheduleSnapshot, string]>([
  ["closed by a new backup, named by the whole second", gap({ atMs: LATER + 999 }), CLOSED],
  ["closed by a new backup when the covering backup is being deleted", gap({ archive: archiveOf({ archive: { ...reported, from: "13" } }), backups: [run(NOW - HOUR, { etcd: "a", deleting: true })] }), CLOSED],
  ["no reason for a backup when an existing backup's revision is invalid and everything is archived", gap({ archive: archiveOf({ archive: { ...reported, from: "1" } }), backups: [run(NOW - HOUR, { etcd: "a", revision: "x" })] }), "settled"],
  ["closed by a new backup when the existing backup's revision is invalid and a change is missing", gap({ archive: archiveOf({ archive: { ...reported, from: "2" } }), backups: [run(NOW - HOUR, { etcd: "a", revision: "x" })] }), CLOSED],
  ["not closed while a backup is running", gap({ backups: [run(NOW - 2 * HOUR), run(NOW - HOUR, { phase: "active" })] }), "settled"],
  ["no reason for a backup when one good backup of two covers it", gap({ archive: archiveOf({ archive: { ...reported, from: "13" } }), backups: [run(NOW - 2 * HOUR, { etcd: "a" }), run(NOW - HOUR, { phase: "Failed" })] }), "settled"],
  ["not closed within ten minutes after a backup has failed", gap({ backups: [run(NOW - HOUR, { phase: "Failed" }), run(LATER - 599_000, { phase: "Failed" })] }), "settled"],
  ["closed by a new backup when the existing backup is of another etcd cluster", gap({ archive: archiveOf({ archive: { ...reported, clusterID: "b" } }), backups: [run(NOW - HOUR, { etcd: "a", revision: "900" })] }), CLOSED],
  ["closed by a new backup when the existing backup's etcd cluster is unknown", gap({ archive: archiveOf({ archive: { ...reported, clusterID: "b", from: "1" } }), backups: [run(NOW - HOUR)] }), CLOSED],
  ["not closed for an earlier etcd cluster when a later backup is of a new one", gap({ archive: archiveOf({ archive: { ...reported, clusterID: "b", time: rfc3339(NOW - HOUR - 1_000) } }), backups: [run(NOW - HOUR, { etcd: "a" })] }), "settled"],
  ["not closed for an earlier etcd cluster, even when there are backups of it", gap({ archive: archiveOf({ archive: { ...reported, clusterID: "b", time: rfc3339(NOW - HOUR - 1_000) } }), backups: [run(NOW - 2 * HOUR, { etcd: "b" }), run(NOW - HOUR, { etcd: "a" })] }), "settled"],
  ["closed by a new backup when a later backup of the same etcd cluster does not cover it", gap({ archive: archiveOf({ archive: { ...reported, time: rfc3339(NOW - 2 * HOUR) } }), backups: [run(NOW - HOUR, { etcd: "a" })] }), CLOSED],
  ["closed by a new backup when the archive's report is as new as the other cluster's backup", gap({ archive: archiveOf({ archive: { ...reported, clusterID: "b", time: rfc3339(NOW - HOUR) } }), backups: [run(NOW - HOUR, { etcd: "a" })] }), CLOSED],
  ["closed by a new backup when the other etcd cluster's backup has failed", gap({ archive: archiveOf({ archive: { ...reported, clusterID: "b", time: rfc3339(NOW - 2 * HOUR) } }), backups: [run(NOW - HOUR, { etcd: "a", phase: "Failed" })] }), CLOSED],
  ["closed by a new backup when the later backup's etcd cluster is unknown", gap({ archive: archiveOf({ archive: { ...reported, clusterID: "b", time: rfc3339(NOW - 2 * HOUR) } }), backups: [run(NOW - HOUR)] }), CLOSED],
  ["no reason for a backup before the archive has reached a member", gap({ archive: archiveOf({ archive: { ...reported, clusterID: undefined, from: "0" } }) }), "settled"],
  ["no reason for a backup when a backup of the same etcd cluster covers it", gap({ archive: archiveOf({ archive: reported }), backups: [run(NOW - HOUR, { etcd: "a", revision: "13" })] }), "settled"],
  ["closed by a new backup when the covering backup is from before the new history", gap({ archive: archiveOf({ archive: { ...reported, since: rfc3339(NOW) } }), backups: [run(NOW - 1_000, { etcd: "a", revision: "900" })] }), CLOSED],
  ["closed by a new backup when the covering backup is within ten minutes of the new history", gap({ archive: archiveOf({ archive: { ...reported, since: rfc3339(NOW) } }), backups: [run(NOW + 599_000, { etcd: "a", revision: "900" })] }), CLOSED],
  ["no reason for a backup when the covering backup is ten minutes after the new history began", gap({ archive: archiveOf({ archive: { ...reported, since: rfc3339(NOW - 600_000) } }), backups: [run(NOW, { etcd: "a", revision: "13" })] }), "settled"],
  ["not closed within ten minutes after the new history began", gap({ archive: archiveOf({ archive: { ...reported, since: rfc3339(LATER - 599_000) } }) }), "settled"],
  ["closed by a new backup ten minutes after the new history began", gap({ archive: archiveOf({ archive: { ...reported, since: rfc3339(LATER - 600_000) } }) }), CLOSED],
  ["not closed while the cluster sleeps", gap({ cluster: source({ replicas: 0 }, true) }), "settled"],
  ["ignored when its revision is invalid", gap({ archive: archiveOf({ archive: { ...reported, from: "0x1" } }) }), "settled"],
])("a gap in the archive is %s", (_, snapshot, expected) => expect(text(snapshot)).toBe(expected)); // biome-ignore format: a table

test("no backup closes a gap for a suspended schedule, twice in a second, or before a later run", () => {
  const made = (ms: number) => ({ status: counted({}, { lastScheduleTime: rfc3339(ms), runs: 1 }) });
  expect(closeGap.decide(gap())).toMatchObject({ next: "step" });
  expect(closeGap.decide(gap({ spec: { archive: {}, suspend: true } }))).toBeUndefined();
  expect(closeGap.decide(gap(made(LATER)))).toBeUndefined();
  expect(closeGap.decide(gap(made(LATER + 1_000)))).toBeUndefined();
  expect(closeGap.decide(gap(made(LATER - 1_000)))).toBeDefined();
});

test("a schedule's first backup may be one that closes a gap", () => {
  const status = {
    observedGeneration: 1,
    counted: { schedule: "0 0 1 6 *", timeZone: "UTC", since: rfc3339(MADE_MS) },
  };
  const snapshot = gap({ spec: { archive: {}, schedule: "0 0 1 6 *" }, status });
  expect(text(snapshot)).toBe(CLOSED);
});

test("the status shows the archive's last report, also when the archive has no conditions", () => {
  const snapshot = gap({ backups: [run(NOW, { etcd: "a" })] });
  expect(scheduleStatus(snapshot, planSchedule(snapshot)).archive).toStrictEqual({
    name: "nightly-changes",
    ...reported,
  });
});

test("the archive's problem is shown only from its condition Complete", () => {
  const because = (type: string, reason: string) => ({
    ...{ type, status: "False" as const, reason, message: type, observedGeneration: 1, lastTransitionTime: "" },
  });
  const of = (complete: string) => {
    const conditions = [because("Failed", "BackingUp"), because("Complete", complete)];
    const snapshot = gap({ archive: archiveOf({ archive: reported, conditions }) });
    return scheduleStatus(snapshot, planSchedule(snapshot)).archive;
  };
  expect(of("Archiving")).not.toHaveProperty("message");
  expect(of("ArchiveStalled")).toMatchObject({ message: "Complete" });
});

test("the first of two applicable archive rules decides", () => {
  const keepLast = { retention: { keepLast: 1 } };
  const due = { status: counted({}, { lastScheduleTime: rfc3339(NOW - HOUR), runs: 3 }), atMs: NOW };
  const active = run(NOW - HOUR, { phase: "active" });
  const given = run(NOW - 2 * HOUR, { given: true });
  const unlabelled = run(NOW, { metadata: { labels: {} } });
  const replace = { concurrencyPolicy: "Replace" };
  const pairs: readonly (readonly [string, string, ScheduleSnapshot])[] = [
    ["record-run", "end-archive", schedule({ ...due, archive: archiveOf(), namesake: unlabelled })],
    ["record-run", "begin-archive", schedule({ ...due, ...ARCHIVE, namesake: unlabelled })],
    ["end-archive", "replace-backup", schedule({ ...due, spec: replace, archive: archiveOf(), backups: [active] })],
    ["begin-archive", "replace-backup", schedule({ ...due, spec: { archive: {}, ...replace }, backups: [active] })],
    ["begin-archive", "create-backup", schedule({ ...due, ...ARCHIVE })],
    ["create-backup", "close-gap", gap({ ...due, archive: archiveOf({ archive: reported }) })],
    ["close-gap", "keep-object", gap({ backups: [given] })],
    ["close-gap", "release-object", gap({ spec: { archive: {}, ...keepLast }, backups: [run(NOW - 400 * HOUR), run(NOW - 300 * HOUR), run(NOW - HOUR)], archive: archiveOf({ archive: { ...reported, from: "14" } }) })],
  ]; // biome-ignore format: a table
  for (const [first, second, snapshot] of pairs) {
    const having = SCHEDULE_RULES.filter((rule) => rule.decide(snapshot) !== undefined).map(({ name }) => name);
    expect(having).toEqual(expect.arrayContaining([first, second]));
    expect(having[0]).toBe(first);
  }
});
