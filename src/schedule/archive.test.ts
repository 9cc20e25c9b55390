import { expect, test } from "vitest";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/cluster.ts";
import { planText } from "#kit/plan-text.ts";
import { archiveOf, counted, MADE_MS, run, schedule, source } from "#kit/schedule.ts";
import { archiveFor } from "#schedule/desired/backup.ts";
import { planSchedule, SCHEDULE_RULES } from "#schedule/plan.ts";
import { beginArchive } from "#schedule/rules/archive/begin-archive.ts";
import { closeGap } from "#schedule/rules/archive/close-gap.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import { scheduleStatus } from "#schedule/status.ts";

// An EtcdBackupSchedule with spec.archive: an EtcdBackup that goes on for years, and the backups that its changes are added to.

const HOUR = 3_600_000;
/** Half an hour after the latest run. */
const LATER = NOW + HOUR / 2;
const ARCHIVE = { spec: { archive: {} } };
const told = { from: "14", revision: "20", time: rfc3339(NOW), gaps: 1 };

/** The archive has a gap before revision 14, and backups hold revision 12. */
function gap(given: Parameters<typeof schedule>[0] = {}): ScheduleSnapshot {
  return schedule({ ...ARCHIVE, archive: archiveOf({ archive: told }), atMs: LATER, ...given });
}

function text(snapshot: ScheduleSnapshot): string {
  return planText(planSchedule(snapshot), ({ do: what, backup }) => `${what} ${backup.metadata.name}`);
}

test("nothing is begun beside an archive that is there, and one that is being deleted is waited for", () => {
  expect(beginArchive.decide(schedule({ ...ARCHIVE, archive: archiveOf() }))).toBeUndefined();
  const { metadata, ...rest } = archiveOf();
  const going = { ...rest, metadata: { ...metadata, deletionTimestamp: rfc3339(NOW) } };
  expect(text(schedule({ archive: going }))).toBe("settled");
});

test("one that says when it ended has not failed for that", () => {
  const archive = archiveOf({ phase: "Completed", completionTime: rfc3339(NOW - HOUR) });
  expect(text(schedule({ ...ARCHIVE, archive }))).toBe("settled");
});

const CLOSED = "close-gap: createBackup nightly-20260101-123000";
const OURS = source({});
const [PLACE, OTHER] = [`foo/my-etcd/${OURS.metadata.uid}`, "foo/my-etcd/another"];
/** The archive, as old as the schedule, and a backup that lies there. */
function stored(folder: string, backup: EtcdBackup): EtcdBackup {
  return { ...backup, status: { ...backup.status, objectKey: `${folder}/${backup.metadata.name}.db` } };
}
const archiveAt = (folder: string, madeMs = MADE_MS, status: object = {}): EtcdBackup => {
  const made = archiveOf({ objectKey: `${folder}/changes`, ...status });
  const { backupTemplate } = schedule(ARCHIVE).schedule.spec;
  const spec = archiveFor(schedule(ARCHIVE).schedule)?.spec ?? backupTemplate;
  return { ...made, spec, metadata: { ...made.metadata, creationTimestamp: rfc3339(madeMs) } };
};
const ENDED = "end-archive: deleteBackup nightly-changes";
/** The archive lies in PLACE, and has a gap before revision 13. */
const covered = (backup: EtcdBackup) =>
  gap({ archive: archiveAt(PLACE, MADE_MS, { archive: { ...told, from: "13" } }), backups: [backup] });
const inBucket = (bucket: string, backup: EtcdBackup): EtcdBackup => ({
  ...backup,
  spec: { ...backup.spec, destination: { s3: { bucket } as never } },
});

test.each<[string, ScheduleSnapshot, string]>([
  ["goes on while its EtcdCluster is the one in whose folder it lies", schedule({ ...ARCHIVE, archive: archiveAt(PLACE), cluster: OURS }), "settled"],
  ["goes on below a prefix", schedule({ ...ARCHIVE, archive: archiveAt(`a/b/${PLACE}`), cluster: OURS }), "settled"],
  ["ends once that was made again", schedule({ ...ARCHIVE, archive: archiveAt(OTHER), cluster: OURS }), ENDED],
  ["ends when nobody knew which one it was", schedule({ ...ARCHIVE, archive: archiveAt("foo/my-etcd/unknown"), cluster: OURS }), ENDED],
  ["goes on while that is gone", schedule({ ...ARCHIVE, archive: archiveAt(OTHER) }), "settled"],
  ["goes on while nobody knows where it lies", schedule({ ...ARCHIVE, archive: { ...archiveAt(OTHER), status: {} }, cluster: OURS }), "settled"],
  ["is not covered by what lies elsewhere", covered(stored(OTHER, run(NOW - HOUR, { etcd: "a" }))), CLOSED],
  ["is not covered by what lies in another bucket", covered(inBucket("another", stored(PLACE, run(NOW - HOUR, { etcd: "a" })))), CLOSED],
  ["is covered by what lies beside it", covered(stored(PLACE, run(NOW - HOUR, { etcd: "a" }))), "settled"],
  ["is covered by what may lie beside it", covered(run(NOW - HOUR, { etcd: "a" })), "settled"],
])("an archive %s", (_, snapshot, expected) => {
  expect(text(snapshot)).toBe(expected);
}); // biome-ignore format: a table

test("who has the name of the archive is in the way by that, wherever it stores", () => {
  const archiveNamesake = archiveOf();
  const snapshot = { ...schedule({ ...ARCHIVE, rival: archiveNamesake }), archiveNamesake };
  const { conditions = [] } = scheduleStatus(snapshot, planSchedule(snapshot));
  expect(conditions.find(({ type }) => type === "Ready")).toMatchObject({
    reason: "NameTaken",
    message: expect.stringContaining("when it is deleted, another one is made, and what it has stored stays"),
  });
});

test("nothing is begun where another one stores the changes of the same etcd, and it is said which, also when both are there", () => {
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
  ["closed, at a whole second", gap({ atMs: LATER + 999 }), CLOSED],
  ["not closed by a backup that is being deleted", gap({ archive: archiveOf({ archive: { ...told, from: "13" } }), backups: [run(NOW - HOUR, { etcd: "a", deleting: true })] }), CLOSED],
  ["closed by one of which no revision is known, when all is archived", gap({ archive: archiveOf({ archive: { ...told, from: "1" } }), backups: [run(NOW - HOUR)] }), "settled"],
  ["not closed by it, when a change is not", gap({ archive: archiveOf({ archive: { ...told, from: "2" } }), backups: [run(NOW - HOUR)] }), CLOSED],
  ["not closed while one of its backups is being made", gap({ backups: [run(NOW - 2 * HOUR), run(NOW - HOUR, { phase: "active" })] }), "settled"],
  ["closed by one of two", gap({ archive: archiveOf({ archive: { ...told, from: "13" } }), backups: [run(NOW - 2 * HOUR, { etcd: "a" }), run(NOW - HOUR, { phase: "Failed" })] }), "settled"],
  ["not closed at once after one of two has failed", gap({ backups: [run(NOW - HOUR, { phase: "Failed" }), run(LATER - 599_000, { phase: "Failed" })] }), "settled"],
  ["not closed by a backup of another etcd", gap({ archive: archiveOf({ archive: { ...told, clusterID: "b" } }), backups: [run(NOW - HOUR, { etcd: "a", revision: "900" })] }), CLOSED],
  ["not closed by one of which nobody knows the etcd", gap({ archive: archiveOf({ archive: { ...told, clusterID: "b", from: "1" } }), backups: [run(NOW - HOUR)] }), CLOSED],
  ["not closed for an etcd of which the archive told last, when a later backup is of another one", gap({ archive: archiveOf({ archive: { ...told, clusterID: "b", time: rfc3339(NOW - HOUR - 1_000) } }), backups: [run(NOW - HOUR, { etcd: "a" })] }), "settled"],
  ["nor when others are of that etcd", gap({ archive: archiveOf({ archive: { ...told, clusterID: "b", time: rfc3339(NOW - HOUR - 1_000) } }), backups: [run(NOW - 2 * HOUR, { etcd: "b" }), run(NOW - HOUR, { etcd: "a" })] }), "settled"],
  ["closed when the later backup is of that etcd, and does not hold what is before", gap({ archive: archiveOf({ archive: { ...told, clusterID: "a", time: rfc3339(NOW - 2 * HOUR) } }), backups: [run(NOW - HOUR, { etcd: "a" })] }), CLOSED],
  ["closed when it was told in the same moment, or later", gap({ archive: archiveOf({ archive: { ...told, clusterID: "b", time: rfc3339(NOW - HOUR) } }), backups: [run(NOW - HOUR, { etcd: "a" })] }), CLOSED],
  ["closed when that backup has failed", gap({ archive: archiveOf({ archive: { ...told, clusterID: "b", time: rfc3339(NOW - 2 * HOUR) } }), backups: [run(NOW - HOUR, { etcd: "a", phase: "Failed" })] }), CLOSED],
  ["closed when nobody knows the etcd of that backup", gap({ archive: archiveOf({ archive: { ...told, clusterID: "b", time: rfc3339(NOW - 2 * HOUR) } }), backups: [run(NOW - HOUR)] }), CLOSED],
  ["closed when an archive of an earlier release does not say of which etcd it is", gap({ archive: archiveOf({ archive: { ...told, time: rfc3339(NOW - 2 * HOUR) } }), backups: [run(NOW - HOUR, { etcd: "a" })] }), CLOSED],
  ["closed by a backup of that etcd", gap({ archive: archiveOf({ archive: { ...told, clusterID: "a" } }), backups: [run(NOW - HOUR, { etcd: "a", revision: "13" })] }), "settled"],
  ["not closed by a backup from before the etcd began to count anew", gap({ archive: archiveOf({ archive: { ...told, clusterID: "a", since: rfc3339(NOW) } }), backups: [run(NOW - 1_000, { etcd: "a", revision: "900" })] }), CLOSED],
  ["not closed by one from so soon after that that a restore would not be sure", gap({ archive: archiveOf({ archive: { ...told, clusterID: "a", since: rfc3339(NOW) } }), backups: [run(NOW + 599_000, { etcd: "a", revision: "900" })] }), CLOSED],
  ["closed by a backup from well after that", gap({ archive: archiveOf({ archive: { ...told, clusterID: "a", since: rfc3339(NOW - 600_000) } }), backups: [run(NOW, { etcd: "a", revision: "13" })] }), "settled"],
  ["not closed before such a one can be made", gap({ archive: archiveOf({ archive: { ...told, clusterID: "a", since: rfc3339(LATER - 599_000) } }) }), "settled"],
  ["closed as soon as it can be made", gap({ archive: archiveOf({ archive: { ...told, clusterID: "a", since: rfc3339(LATER - 600_000) } }) }), CLOSED],
  ["not closed while the cluster sleeps", gap({ cluster: source({ replicas: 0 }, true) }), "settled"],
  ["no gap when what is told of it is no revision", gap({ archive: archiveOf({ archive: { ...told, from: "0x1" } }) }), "settled"],
  ["not closed by a backup of which no revision is told", gap({ archive: archiveOf({ archive: { ...told, clusterID: "a" } }), backups: [run(NOW - HOUR, { etcd: "a", revision: "x" })] }), CLOSED],
])("a gap is %s", (_, snapshot, expected) => expect(text(snapshot)).toBe(expected)); // biome-ignore format: a table

test("no backup is made for a gap of a schedule that is suspended, nor twice in a second, nor before a later run", () => {
  const made = (ms: number) => ({ status: counted({}, { lastScheduleTime: rfc3339(ms), runs: 1 }) });
  expect(closeGap.decide(gap())).toMatchObject({ next: "step", rule: "close-gap" });
  expect(closeGap.decide(gap({ spec: { archive: {}, suspend: true } }))).toBeUndefined();
  expect(closeGap.decide(gap(made(LATER)))).toBeUndefined();
  expect(closeGap.decide(gap(made(LATER + 1_000)))).toBeUndefined();
  expect(closeGap.decide(gap(made(LATER - 1_000)))).toBeDefined();
});

test("the first backup of all closes a gap, too", () => {
  const status = {
    observedGeneration: 1,
    counted: { schedule: "0 0 1 6 *", timeZone: "UTC", since: rfc3339(MADE_MS) },
  };
  const snapshot = gap({ spec: { archive: {}, schedule: "0 0 1 6 *" }, status });
  expect(text(snapshot)).toBe(CLOSED);
});

test("of the archive that is told what it said last, also before it has a condition", () => {
  const snapshot = gap({ backups: [run(NOW, { etcd: "a" })] });
  expect(scheduleStatus(snapshot, planSchedule(snapshot)).archive).toStrictEqual({ name: "nightly-changes", ...told });
});

test("what is wrong with the archive is told by its condition Complete, and by no other one", () => {
  const because = (type: string, reason: string) => ({
    ...{ type, status: "False" as const, reason, message: type, observedGeneration: 1, lastTransitionTime: "" },
  });
  const of = (complete: string) => {
    const conditions = [because("Failed", "BackingUp"), because("Complete", complete)];
    const snapshot = gap({ archive: archiveOf({ archive: told, conditions }) });
    return scheduleStatus(snapshot, planSchedule(snapshot)).archive;
  };
  expect(of("Archiving")).not.toHaveProperty("message");
  expect(of("ArchiveStalled")).toMatchObject({ message: "Complete" });
});

test("of the archive, too, one rule decides alone where two have an opinion", () => {
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
    ["create-backup", "close-gap", gap({ ...due, archive: archiveOf({ archive: told }) })],
    ["close-gap", "keep-object", gap({ backups: [given] })],
    ["close-gap", "give-object", gap({ spec: { archive: {}, ...keepLast }, backups: [run(NOW - 400 * HOUR), run(NOW - 300 * HOUR), run(NOW - HOUR)], archive: archiveOf({ archive: { ...told, from: "14" } }) })],
  ]; // biome-ignore format: a table
  for (const [first, second, snapshot] of pairs) {
    const having = SCHEDULE_RULES.filter((rule) => rule.decide(snapshot) !== undefined).map(({ name }) => name);
    expect(having).toEqual(expect.arrayContaining([first, second]));
    expect(having[0]).toBe(first);
  }
});
