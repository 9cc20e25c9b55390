import { expect, test } from "vitest";
import { SCHEDULE_UID_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { archiveOf, counted, etcdBackupSchedule, run, source, TEMPLATE } from "#kit/snapshots/schedule.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { scheduleKeysFor } from "#schedule/controller.ts";
import { observeSchedule, type ScheduleReads } from "#schedule/observe.ts";
import { planSchedule } from "#schedule/plan.ts";
import { beginningOf } from "#schedule/snapshot.ts";
import { scheduleStatus } from "#schedule/status.ts";

const HOUR = 3_600_000;
const KEY = { namespace: "foo", name: "nightly" };

function reads(
  schedule: ReturnType<typeof etcdBackupSchedule> | undefined,
  backups: readonly EtcdBackup[],
  cluster?: EtcdCluster,
  restores: readonly EtcdRestore[] = [],
  beginning: readonly string[] = [],
): ScheduleReads {
  return {
    schedules: { get: () => schedule, byIndex: () => [] },
    backups: {
      get: ({ namespace, name }) =>
        backups.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace),
      byIndex: (index, value) => {
        if (index === "archive") return value === "foo" ? backups.filter(({ spec }) => spec.archive !== undefined) : [];
        return index === "schedule" && value === "foo/nightly" ? backups : [];
      },
    },
    clusters: {
      get: () => cluster,
      byIndex: (index, value) => (index === "beginning" && beginning.includes(value) ? [source({})] : []),
    },
    restores: {
      byIndex: (index, value) =>
        restores.filter(({ spec }) => index === "restored" && value === `foo/${spec.source.backupName}`),
    },
    clock: new FakeClock(NOW),
  };
}

test("a schedule that does not exist is observed as absent", () => {
  expect(observeSchedule(reads(undefined, []), KEY).is).toBe("absent");
});

test("the schedule's backups are sorted by creation, and a foreign EtcdBackup with the due run's name is observed", () => {
  const status = counted({}, { lastScheduleTime: rfc3339(NOW - HOUR) });
  const theirs = run(NOW, { metadata: { annotations: { [SCHEDULE_UID_ANNOTATION]: "another" } } });
  const [older, newer] = [run(NOW - 2 * HOUR), run(NOW - HOUR)];
  const seen = observeSchedule(reads(etcdBackupSchedule({ status }), [newer, theirs, older]), KEY);
  expect(seen).toMatchObject({ is: "present", value: { takenAtMs: NOW, backups: [older, newer], namesake: theirs } });
});

test("backups that an EtcdRestore still reads are observed", () => {
  const [read, ended, failed, filled, unread] = [4, 3, 2, 1, 0].map((hours) => run(NOW - hours * HOUR)) as [
    EtcdBackup,
    EtcdBackup,
    EtcdBackup,
    EtcdBackup,
    EtcdBackup,
  ];
  const restoreOf = ({ metadata }: EtcdBackup, status?: object) =>
    ({ spec: { source: { backupName: metadata.name } }, status }) as EtcdRestore;
  const restores = [
    restoreOf(read, { phase: "Pending", begun: false }),
    restoreOf(read, { phase: "Failed" }),
    restoreOf(ended, { phase: "Completed" }),
    restoreOf(failed, { phase: "Failed" }),
    restoreOf(filled, { phase: "Pending", begun: true }),
  ];
  const all = [read, ended, failed, filled, unread];
  const seen = observeSchedule(reads(etcdBackupSchedule(), all, undefined, restores), KEY);
  expect(seen).toMatchObject({ value: { restoring: new Set([read.metadata.name]) } });
});

test("a backup with which an EtcdCluster will begin counts as read before its EtcdRestore exists", () => {
  const [older, newer] = [run(NOW - HOUR), run(NOW)];
  const seen = observeSchedule(
    reads(etcdBackupSchedule(), [older, newer], undefined, [], [`foo/${older.metadata.name}`]),
    KEY,
  );
  expect(seen).toMatchObject({ value: { restoring: new Set([older.metadata.name]) } });
});

test("an EtcdCluster begins with its backup until it has an identity or is being deleted", () => {
  const { metadata, spec } = source({});
  const begins = { ...spec, bootstrap: { fromBackup: { source: { backupName: "old" } } } };
  const of = (status: object | undefined, more: object = {}, given: object = begins) =>
    beginningOf({ ...source({}), metadata: { ...metadata, ...more }, spec: given, status } as EtcdCluster);
  expect(of(undefined)).toBe("old");
  expect(of({ conditions: [] })).toBe("old");
  expect(of({ identity: {} })).toBeUndefined();
  expect(of(undefined, { deletionTimestamp: rfc3339(NOW) })).toBeUndefined();
  expect(of(undefined, {}, spec)).toBeUndefined();
  expect(of(undefined, {}, { ...spec, bootstrap: { fromBackup: { source: { object: {} } } } })).toBeUndefined();
  expect(of(undefined, {}, { ...spec, bootstrap: {} })).toBeUndefined();
});

test("the schedule's archive is not among its backups", () => {
  const archive = archiveOf();
  const seen = observeSchedule(reads(etcdBackupSchedule(), [run(NOW), archive]), KEY);
  expect(seen).toMatchObject({ value: { backups: [run(NOW)], archive } });
});

test("the oldest active archive of another schedule in the same place is observed", () => {
  const other = (name: string, status: object = {}, spec: object = {}, more: object = {}): EtcdBackup => {
    const made = archiveOf(status, spec);
    const annotations = { [SCHEDULE_UID_ANNOTATION]: "another" };
    return { ...made, metadata: { ...made.metadata, name, annotations, ...more } };
  };
  const rivalOf = (spec: object, ...backups: readonly EtcdBackup[]) => {
    const seen = observeSchedule(reads(etcdBackupSchedule({ spec }), backups), KEY);
    return seen.is === "present" ? seen.value.rival?.metadata.name : undefined;
  };
  const archive = { archive: {} };
  const older = other("older", {}, {}, { creationTimestamp: rfc3339(NOW - HOUR) });
  expect(rivalOf(archive, archiveOf())).toBeUndefined();
  expect(rivalOf(archive, other("newer", {}, {}, { creationTimestamp: rfc3339(NOW) }), older)).toBe("older");
  expect(rivalOf({}, older)).toBeUndefined();
  expect(rivalOf(archive, other("failed", { phase: "Failed" }))).toBeUndefined();
  expect(rivalOf(archive, other("going", {}, {}, { deletionTimestamp: rfc3339(NOW) }))).toBeUndefined();
  const { destination } = TEMPLATE;
  const s3 = { ...destination.s3, credentials: { secretName: "others" } };
  expect(rivalOf(archive, other("with-another-secret", {}, { destination: { s3 } }))).toBe("with-another-secret");
  for (const elsewhere of [
    { destination: { s3: { ...destination.s3, prefix: "daily" } } },
    { destination: { s3: { ...destination.s3, bucket: "another" } } },
    { destination: { s3: { ...destination.s3, endpoint: "https://another" } } },
    { source: { cluster: { name: "another" } } },
  ])
    expect(rivalOf(archive, other("elsewhere", {}, elsewhere))).toBeUndefined();
});

test("a foreign EtcdBackup with the archive's name is observed", () => {
  const archive = archiveOf();
  const annotations = { [SCHEDULE_UID_ANNOTATION]: "another" };
  const theirs = { ...archive, metadata: { ...archive.metadata, annotations } };
  expect(observeSchedule(reads(etcdBackupSchedule(), [theirs]), KEY)).toMatchObject({
    value: { archive: undefined, archiveNamesake: theirs },
  });
  expect(observeSchedule(reads(etcdBackupSchedule(), [archive]), KEY)).toMatchObject({
    value: { archive, archiveNamesake: undefined },
  });
});

test("no EtcdBackup with a run's name is observed when no run is due", () => {
  const seen = observeSchedule(reads(etcdBackupSchedule(), [run(NOW)]), KEY);
  expect(seen).toMatchObject({ value: { namesake: undefined } });
});

test("the schedule's cluster and the latest run's backup are observed, even when that lost its label", () => {
  const cluster = source({});
  const last = run(NOW, { metadata: { labels: {} } });
  const made = etcdBackupSchedule({ status: counted({}, { lastScheduleTime: rfc3339(NOW) }) });
  const look = (backups: readonly EtcdBackup[], of = made) => observeSchedule(reads(of, backups, cluster), KEY);
  expect(look([last])).toMatchObject({ value: { cluster, lastRun: last, left: [] } });
  const theirs = run(NOW, { metadata: { annotations: { [SCHEDULE_UID_ANNOTATION]: "another" } } });
  expect(look([theirs])).toMatchObject({ value: { lastRun: undefined, left: [] } });
  // While the next run is in progress, the run before must have a good backup.
  const next = run(NOW + HOUR, { phase: "active" });
  expect(look([last, next])).toMatchObject({ value: { lastRun: next, wantedRun: last } });
  expect(look([theirs, next])).toMatchObject({ value: { lastRun: next, wantedRun: undefined } });
  expect(look([last])).toMatchObject({ value: { wantedRun: last } });
  const source2 = { external: { endpoints: ["http://etcd:2379"] } };
  const external = { backupTemplate: { spec: { ...made.spec.backupTemplate.spec, source: source2 } } };
  expect(look([], etcdBackupSchedule({ spec: external }))).toMatchObject({ value: { cluster: undefined } });
});

test("marks that a deleted schedule left are observed until they are removed", () => {
  const [marked, kept] = [run(NOW - HOUR, { given: true }), run(NOW)];
  const gone = observeSchedule(reads(undefined, [kept, marked]), KEY);
  expect(gone).toMatchObject({ is: "present", value: { left: [marked], backups: [] } });
  const snapshot = gone.is === "present" ? gone.value : undefined;
  const plan = planSchedule(snapshot!);
  expect(plan).toMatchObject({ rule: "keep-orphaned", step: { do: "keepObject", backup: marked } });
  expect(scheduleStatus(snapshot!, plan)).toEqual({});
  expect(snapshot!.schedule.metadata).toMatchObject({ ...KEY, uid: "uid-of-schedule" });
  const going = run(NOW - HOUR, { given: true, deleting: true });
  expect(observeSchedule(reads(undefined, [kept, going]), KEY).is).toBe("absent");
  const later = etcdBackupSchedule();
  const recreated = { ...later, metadata: { ...later.metadata, uid: "another" } };
  expect(observeSchedule(reads(recreated, [kept, marked]), KEY)).toMatchObject({
    value: { left: [marked], backups: [] },
  });
  expect(observeSchedule(reads(later, [kept, marked]), KEY)).toMatchObject({ value: { left: [] } });
});

test("a change of a backup triggers the schedule in its label", () => {
  expect(scheduleKeysFor(run(NOW))).toEqual([KEY]);
  expect(scheduleKeysFor(run(NOW, { metadata: { labels: {} } }))).toEqual([]);
  expect(scheduleKeysFor(run(NOW, { metadata: { namespace: undefined } }))).toEqual([]);
});
