import { expect, test } from "vitest";
import { SCHEDULE_UID_ANNOTATION } from "#api/names.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { archiveOf, counted, run, schedule } from "#kit/snapshots/schedule.ts";
import { stepsIn, testJudged } from "#kit/tables/judged-kinds.ts";
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
const [oldVerified, verifiedOne, newVerified] = [
  run(NOW - 3 * HOUR, { verified: true }),
  run(NOW - 2 * HOUR, { verified: true }),
  run(NOW - HOUR, { verified: true }),
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
    ["creating a backup", due(), create(NOW), "allowed"],
    ["deleting a backup of the schedule", due(), remove(failed), "allowed"],
    ["deleting a backup of another schedule", due(), remove(theirs), "forbidden"],
    ["marking the object of another schedule", due(), give(theirs), "forbidden"],
    ["keeping the object of another schedule", due(), keep(theirs), "forbidden"],
    ["unmarking a backup of an earlier schedule", due({ left: [oldest, theirs] }), keep(theirs), "allowed"],
    ["deleting a backup of an earlier schedule", due({ left: [theirs] }), remove(theirs), "forbidden"],
    ["unmarking a backup of another schedule", due({ left: [oldest] }), keep(theirs), "forbidden"],
  ],
  "once-only": [
    ["creating a run that is due", due(), create(NOW), "allowed"],
    ["creating a run that was due since the latest run", due(), create(NOW - HOUR + 1_000), "allowed"],
    ["creating the first run", schedule({ status: counted({}) }), create(NOW - 5 * HOUR), "allowed"],
    ["creating the latest run again", due(), create(NOW - HOUR), "forbidden"],
    ["creating a run from before the latest", due(), create(NOW - 2 * HOUR), "forbidden"],
    ["creating a future run", due(), create(NOW + 1_000), "forbidden"],
    ["creating a run with a name that is taken", due({ namesake: theirs }), create(NOW), "forbidden"],
    ["creating a run of a suspended schedule", due({ spec: { suspend: true } }), create(NOW), "forbidden"],
    ["creating a run of a schedule that is being deleted", due({ deleting: true }), create(NOW), "forbidden"],
    ["creating a backup with a name without a due time", due(), { do: "createBackup", backup: { ...newer, metadata: { ...newer.metadata, name: "nightly" } } }, "forbidden"],
    ["creating an archive of a suspended schedule", due({ spec: { suspend: true } }), archive, "allowed"],
    ["creating a second archive", due({ archive: archiveOf() }), archive, "forbidden"],
    ["creating an archive of a schedule that is being deleted", due({ deleting: true }), archive, "forbidden"],
    ["deleting a backup", due({ spec: { suspend: true } }), remove(newer), "allowed"],
  ],
  "last-good-stays": [
    ["deleting a failed backup", due({ backups: [failed] }), remove(failed), "allowed"],
    ["deleting a backup when a later one exists", due({ backups: [older, newer] }), remove(older, newer), "allowed"],
    ["deleting a backup when a later one exists, listed first", due({ backups: [newer, older] }), remove(older, newer), "allowed"],
    ["deleting an older verified backup when the latest is verified", due({ backups: [oldVerified, newVerified] }), remove(oldVerified, newVerified), "allowed"],
    ["deleting an older verified backup when a later verified one is named, too", due({ backups: [oldVerified, verifiedOne, newer] }), remove(oldVerified, verifiedOne, newer), "allowed"],
    ["deleting an older verified backup when the later verified one is not named", due({ backups: [oldVerified, verifiedOne, newer] }), remove(oldVerified, newer), "forbidden"],
    ["deleting the latest backup, listed first", due({ backups: [newer, older] }), remove(newer, older), "forbidden"],
    ["deleting a backup when another was created in the same second and due later", due({ backups: [twin, newer] }), remove(newer, twin), "allowed"],
    ["marking the object of a backup when a later one exists", due({ backups: [older, newer] }), give(older, newer), "allowed"],
    ["deleting the latest backup with itself as the later one", due({ backups: [older, newer] }), remove(newer, newer), "forbidden"],
    ["marking the object of the latest backup with itself as the later one", due({ backups: [older, newer] }), give(newer, newer), "forbidden"],
    ["deleting a backup with a later one that is not the latest", due({ backups: [oldest, older, newer] }), remove(oldest, older), "forbidden"],
    ["deleting a backup without a later one", due({ backups: [older, newer] }), remove(older), "forbidden"],
    ["deleting a backup when the later one is of another etcd cluster", due({ backups: [older, other] }), remove(older, other), "forbidden"],
    ["deleting a backup when the later one has failed", due({ backups: [older, run(NOW - HOUR, { phase: "Failed" })] }), remove(older, newer), "forbidden"],
    ["deleting a backup when the later one is being deleted", due({ backups: [older, run(NOW - HOUR, { deleting: true })] }), remove(older, newer), "forbidden"],
    ["deleting a backup when the later one is defective", due({ backups: [older, wrong] }), remove(older, wrong), "forbidden"],
    ["marking a backup when the later one is not verified yet", due({ backups: [older, open] }), give(older, open), "forbidden"],
    ["deleting the latest backup since etcd was restored to an earlier revision", due({ backups: [far, back, further] }), remove(further, far, further), "forbidden"],
    ["deleting the latest backup from before etcd was restored to an earlier revision", due({ backups: [far, back, further] }), remove(far, far, further), "forbidden"],
    ["deleting a backup when a later one exists since etcd was restored", due({ backups: [far, back, further] }), remove(back, far, further), "allowed"],
    ["deleting a backup when the later one is only from before etcd was restored", due({ backups: [far, back, further] }), remove(back, far), "forbidden"],
    ["deleting a defective backup when no good one exists", due({ backups: [wrong] }), remove(wrong), "forbidden"],
    ["unmarking an object", due({ backups: [newer] }), keep(newer), "allowed"],
    ["creating a backup", due(), create(NOW), "allowed"],
  ],
  "restored-stays": [
    ["deleting a backup that no restore reads", due({ backups: [older, newer], restoring: [newer] }), remove(older, newer), "allowed"],
    ["deleting a backup that a restore reads", due({ backups: [older, newer], restoring: [older] }), remove(older, newer), "forbidden"],
    ["marking the object of a backup that a restore reads", due({ backups: [older, newer], restoring: [older] }), give(older, newer), "forbidden"],
    ["deleting a failed backup, which stored nothing", due({ backups: [failed], restoring: [failed] }), remove(failed), "allowed"],
    ["unmarking a backup that a restore reads", due({ backups: [older, newer], restoring: [older] }), keep(older), "allowed"],
    ["creating a backup", due({ backups: [older, newer], restoring: [older] }), create(NOW), "allowed"],
  ],
  "object-by-retention": [
    ["marking an object when the schedule has a retention", due({ spec: kept }), give(older, newer), "allowed"],
    ["marking an object when the schedule has no retention", due(), give(older, newer), "forbidden"],
    ["deleting a backup without its object when the schedule has a retention", due({ spec: kept }), remove(older, newer), "forbidden"],
    ["deleting a backup together with its object", due({ spec: kept }), remove(given, newer), "allowed"],
    ["deleting a failed backup when the schedule has a retention", due({ spec: kept }), remove(failed), "allowed"],
    ["deleting a backup without its object when the schedule has no retention", due(), remove(older, newer), "allowed"],
    ["creating a backup", due({ spec: kept }), create(NOW), "allowed"],
    ["unmarking an object", due(), keep(older), "allowed"],
  ],
}; // biome-ignore format: a table

for (const { name, forbids } of SCHEDULE_GUARDS)
  for (const [what, snapshot, step, is] of cases[name] ?? [])
    test(`guard ${name}: ${what} is ${is}`, () =>
      expect(forbids(snapshot, step) === undefined ? "allowed" : "forbidden").toBe(is));

test("every schedule guard has a case that it forbids and one that it allows", () => {
  expect(Object.keys(cases)).toEqual(SCHEDULE_GUARDS.map(({ name }) => name));
  for (const each of Object.values(cases)) expect(new Set(each.map(([, , , is]) => is)).size).toBe(2);
});

/** Guards that judge each kind of step: every other guard permits it for any snapshot. */
const JUDGED_BY: Readonly<Record<ScheduleStep["do"], readonly string[]>> = {
  createBackup: ["once-only"],
  deleteBackup: ["own-only", "last-good-stays", "restored-stays", "object-by-retention"],
  giveObject: ["own-only", "last-good-stays", "restored-stays", "object-by-retention"],
  keepObject: ["own-only"],
};

const judgements = Object.entries(cases).flatMap(([guard, rows]) =>
  rows.map(([, given, step, is]) => ({ guard, given, step, is })),
);

testJudged(SCHEDULE_GUARDS, stepsIn(judgements), JUDGED_BY, judgements);
