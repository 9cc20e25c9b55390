import { expect, test } from "vitest";
import { SCHEDULE_UID_ANNOTATION } from "#api/names.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/cluster.ts";
import { archiveOf, counted, run, schedule } from "#kit/schedule.ts";
import { archiveFor, backupFor } from "#schedule/desired/backup.ts";
import { SCHEDULE_GUARDS } from "#schedule/guards.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import type { ScheduleStep } from "#schedule/step.ts";

const HOUR = 3_600_000;
const status = counted({}, { lastScheduleTime: rfc3339(NOW - HOUR), runs: 3 });
const due = (given: Parameters<typeof schedule>[0] = {}) => schedule({ status, ...given });
const create = (atMs: number): ScheduleStep => ({ do: "createBackup", backup: backupFor(due(), atMs, 0) });
const archive: ScheduleStep = { do: "createBackup", backup: archiveFor(schedule({ spec: { archive: {} } }).schedule)! };
const [oldest, older, newer] = [run(NOW - 3 * HOUR), run(NOW - 2 * HOUR), run(NOW - HOUR)];
const twin = run(NOW, { metadata: { creationTimestamp: newer.metadata.creationTimestamp } });
const failed = run(NOW - 2 * HOUR, { phase: "Failed" });
const theirs = run(NOW - HOUR, { metadata: { annotations: { [SCHEDULE_UID_ANNOTATION]: "another" } } });
const other = run(NOW, { etcd: "other" });
const [far, back, further] = [
  run(NOW - 3 * HOUR, { etcd: "e", revision: "1000" }),
  run(NOW - 2 * HOUR, { etcd: "e", revision: "900" }),
  run(NOW - HOUR, { etcd: "e", revision: "901" }),
];
const wrong = run(NOW - HOUR, { doubted: "VerificationFailed" });
const open = run(NOW - HOUR, { doubted: "open" });
const given = run(NOW - 2 * HOUR, { given: true });
const remove = (backup: typeof newer, ...keepers: readonly (typeof newer)[]): ScheduleStep => ({
  do: "deleteBackup",
  backup,
  keepers,
});
const give = (backup: typeof newer, ...keepers: readonly (typeof newer)[]): ScheduleStep => ({
  do: "giveObject",
  backup,
  keepers,
});
const keep = (backup: typeof newer): ScheduleStep => ({ do: "keepObject", backup });
const kept = { retention: { keepLast: 1 } };

const cases: Record<string, readonly (readonly [string, ScheduleSnapshot, ScheduleStep, "allowed" | "forbidden"])[]> = {
  "own-only": [
    ["a new one", due(), create(NOW), "allowed"],
    ["deleting one of ours", due(), remove(failed), "allowed"],
    ["deleting one of another schedule", due(), remove(theirs), "forbidden"],
    ["giving away the object of another schedule", due(), give(theirs), "forbidden"],
    ["keeping the object of another schedule", due(), keep(theirs), "forbidden"],
    ["keeping what an earlier schedule has marked", due({ left: [oldest, theirs] }), keep(theirs), "allowed"],
    ["deleting that", due({ left: [theirs] }), remove(theirs), "forbidden"],
    ["keeping another one than that", due({ left: [oldest] }), keep(theirs), "forbidden"],
  ],
  "once-only": [
    ["a run that is due", due(), create(NOW), "allowed"],
    ["one that was due before", due(), create(NOW - HOUR + 1_000), "allowed"],
    ["the first one", schedule({ status: counted({}) }), create(NOW - 5 * HOUR), "allowed"],
    ["the one that was made last", due(), create(NOW - HOUR), "forbidden"],
    ["one before that", due(), create(NOW - 2 * HOUR), "forbidden"],
    ["one that comes", due(), create(NOW + 1_000), "forbidden"],
    ["one whose name is taken", due({ namesake: theirs }), create(NOW), "forbidden"],
    ["one of a suspended schedule", due({ spec: { suspend: true } }), create(NOW), "forbidden"],
    ["one of a schedule that is being deleted", due({ deleting: true }), create(NOW), "forbidden"],
    ["one without a due time", due(), { do: "createBackup", backup: { ...newer, metadata: { ...newer.metadata, name: "nightly" } } }, "forbidden"],
    ["an archive, also of a suspended schedule", due({ spec: { suspend: true } }), archive, "allowed"],
    ["a second archive", due({ archive: archiveOf() }), archive, "forbidden"],
    ["an archive of a schedule that is being deleted", due({ deleting: true }), archive, "forbidden"],
    ["a deletion", due({ spec: { suspend: true } }), remove(newer), "allowed"],
  ],
  "last-good-stays": [
    ["one that failed", due({ backups: [failed] }), remove(failed), "allowed"],
    ["one with a later one", due({ backups: [older, newer] }), remove(older, newer), "allowed"],
    ["one with a later one, in whatever order", due({ backups: [newer, older] }), remove(older, newer), "allowed"],
    ["the latest, in whatever order", due({ backups: [newer, older] }), remove(newer, older), "forbidden"],
    ["one with another one of the same second, which was due later", due({ backups: [twin, newer] }), remove(newer, twin), "allowed"],
    ["the object of one with a later one", due({ backups: [older, newer] }), give(older, newer), "allowed"],
    ["the latest", due({ backups: [older, newer] }), remove(newer, newer), "forbidden"],
    ["the object of the latest", due({ backups: [older, newer] }), give(newer, newer), "forbidden"],
    ["one for the sake of another one than the latest", due({ backups: [oldest, older, newer] }), remove(oldest, older), "forbidden"],
    ["one for the sake of nobody", due({ backups: [older, newer] }), remove(older), "forbidden"],
    ["one with a later one of another etcd alone", due({ backups: [older, other] }), remove(older, other), "forbidden"],
    ["one with a later one that failed", due({ backups: [older, run(NOW - HOUR, { phase: "Failed" })] }), remove(older, newer), "forbidden"],
    ["one with a later one that is being deleted", due({ backups: [older, run(NOW - HOUR, { deleting: true })] }), remove(older, newer), "forbidden"],
    ["one with a later one that was found wrong", due({ backups: [older, wrong] }), remove(older, wrong), "forbidden"],
    ["one with a later one that is yet to be verified", due({ backups: [older, open] }), give(older, open), "forbidden"],
    ["the latest since etcd was brought back", due({ backups: [far, back, further] }), remove(further, far, further), "forbidden"],
    ["the latest before that", due({ backups: [far, back, further] }), remove(far, far, further), "forbidden"],
    ["one with a later one since that", due({ backups: [far, back, further] }), remove(back, far, further), "allowed"],
    ["one for the sake of the one before that alone", due({ backups: [far, back, further] }), remove(back, far), "forbidden"],
    ["one that was found wrong, where none is good", due({ backups: [wrong] }), remove(wrong), "forbidden"],
    ["keeping an object", due({ backups: [newer] }), keep(newer), "allowed"],
    ["a new one", due(), create(NOW), "allowed"],
  ],
  "restored-stays": [
    ["one that nobody reads", due({ backups: [older, newer], restoring: [newer] }), remove(older, newer), "allowed"],
    ["one that a restore reads", due({ backups: [older, newer], restoring: [older] }), remove(older, newer), "forbidden"],
    ["the object of one that a restore reads", due({ backups: [older, newer], restoring: [older] }), give(older, newer), "forbidden"],
    ["one that has stored nothing", due({ backups: [failed], restoring: [failed] }), remove(failed), "allowed"],
    ["keeping its object", due({ backups: [older, newer], restoring: [older] }), keep(older), "allowed"],
    ["a new one", due({ backups: [older, newer], restoring: [older] }), create(NOW), "allowed"],
  ],
  "object-by-retention": [
    ["giving away with a retention", due({ spec: kept }), give(older, newer), "allowed"],
    ["giving away without one", due(), give(older, newer), "forbidden"],
    ["deleting one whose object stays, with a retention", due({ spec: kept }), remove(older, newer), "forbidden"],
    ["deleting one whose object goes", due({ spec: kept }), remove(given, newer), "allowed"],
    ["deleting one that failed", due({ spec: kept }), remove(failed), "allowed"],
    ["deleting one without a retention", due(), remove(older, newer), "allowed"],
    ["a new one", due({ spec: kept }), create(NOW), "allowed"],
    ["keeping an object", due(), keep(older), "allowed"],
  ],
}; // biome-ignore format: a table

for (const { name, forbids } of SCHEDULE_GUARDS)
  for (const [what, snapshot, step, is] of cases[name] ?? [])
    test(`${name}: ${what} is ${is}`, () =>
      expect(forbids(snapshot, step) === undefined ? "allowed" : "forbidden").toBe(is));

test("every guard has a case that forbids and one that allows", () => {
  expect(Object.keys(cases)).toEqual(SCHEDULE_GUARDS.map(({ name }) => name));
  for (const each of Object.values(cases)) expect(new Set(each.map(([, , , is]) => is)).size).toBe(2);
});
