import { expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { run, schedule } from "#kit/snapshots/schedule.ts";
import { dryRunOf } from "#schedule/dry-run.ts";
import { planSchedule } from "#schedule/plan.ts";

const HOUR = 3_600_000;
const backups = [
  run(NOW - 4 * HOUR, { phase: "Failed" }),
  run(NOW - 3 * HOUR),
  run(NOW - 2 * HOUR, { deletionPolicy: "Delete" }),
  run(NOW - HOUR),
];
const [failed = "", oldest = "", older = ""] = backups.map(({ metadata }) => metadata.name);
const url = (name: string) => `s3://backups/${name}.db`;

function asked(patch: unknown, given: Parameters<typeof schedule>[0] = {}) {
  const text = typeof patch === "string" ? patch : JSON.stringify(patch);
  return schedule({ backups, annotations: { [DRY_RUN_ANNOTATION]: text }, ...given });
}

test.each<[string, object, readonly object[]]>([
  ["by a retention, with every object", { retention: { keepLast: 1 } }, [
    { name: oldest, objectURL: url(oldest) },
    { name: older, objectURL: url(older) },
  ]],
  ["by a history limit, with the objects that their policy deletes", { successfulBackupsHistoryLimit: 1, failedBackupsHistoryLimit: 0 }, [
    { name: failed },
    { name: oldest },
    { name: older, objectURL: url(older) },
  ]],
  ["nothing by an edit that keeps all", { retention: { keepLast: 9 } }, []],
  ["nothing that a new archive with the default keepFor needs", { retention: { keepLast: 1 }, archive: {} }, []],
  ["nothing by an edit of another field", { suspend: true }, []],
])("a dry run lists the backups that the edit would delete: %s", (_, patch, deletes) => {
  expect(dryRunOf(asked(patch))).toEqual({ deletes });
}); // biome-ignore format: a table

test("a dry run lists no object for a backup without an object or a known URL", () => {
  const nowhere = run(NOW - 3 * HOUR);
  const { objectURL: _, ...status } = nowhere.status ?? {};
  const few = [run(NOW - 4 * HOUR, { phase: "Failed", deletionPolicy: "Delete" }), { ...nowhere, status }, run(NOW)];
  const dryRun = dryRunOf(asked({ retention: { keepLast: 1 }, failedBackupsHistoryLimit: 0 }, { backups: few }));
  expect(dryRun).toStrictEqual({ deletes: [{ name: failed }, { name: oldest }] });
});

test("a dry run deletes nothing", () => {
  expect(planSchedule(asked({ retention: { keepLast: 1 } })).next).toBe("settled");
});

test("a dry run merges its edit into the spec, and null removes a field", () => {
  const spec = { retention: { keepLast: 1, keepFor: "90m" } };
  const deletes = [{ name: oldest, objectURL: url(oldest) }];
  expect(dryRunOf(asked({}, { spec }))).toEqual({ deletes });
  expect(dryRunOf(asked({ retention: { keepFor: null } }, { spec }))?.deletes.map(({ name }) => name)).toEqual([
    oldest,
    older,
  ]);
  expect(dryRunOf(asked({ retention: null, successfulBackupsHistoryLimit: 2 }, { spec }))?.deletes).toEqual([
    { name: oldest },
  ]);
  expect(
    dryRunOf(asked({ failedBackupsHistoryLimit: null }, { spec: { failedBackupsHistoryLimit: 0 } }))?.deletes,
  ).toEqual([]);
});

test.each<[string, string]>([
  ["what?", 'it is "what?"; it must be a JSON object, a merge patch of spec'],
  ["[]", "it must be a JSON object"],
  ['{"retention":{"keepLast":0}}', "with it, spec.retention.keepLast is 0; it must be at least 1"],
  ['{"schedule":"x"}', 'with it, spec.schedule is "x"; it must have five fields'],
  ['{"retention":{"keepLast":1},"successfulBackupsHistoryLimit":1}', "with it, spec has both retention and successful"],
])("the dry-run annotation %s is refused", (text, message) => {
  const { refused = [], deletes } = dryRunOf(asked(text)) ?? { deletes: [{}] };
  expect(refused).toEqual([{ rule: "SpecRefused", message: expect.stringContaining(message) }]);
  expect(deletes).toEqual([]);
});

test("there is no dry run without the annotation, and at most a hundred backups are listed", () => {
  expect(dryRunOf(schedule({ backups }))).toBeUndefined();
  const many = Array.from({ length: 150 }, (_, n) => run(NOW - n * HOUR));
  const dryRun = dryRunOf(asked({ retention: { keepLast: 1 } }, { backups: many }));
  expect(dryRun?.deletes).toHaveLength(100);
  expect(dryRun?.more).toBe(49);
  expect(dryRun?.deletes[0]?.name).toBe(many.at(-1)?.metadata.name);
  const few = dryRunOf(asked({ retention: { keepLast: 50 } }, { backups: many }));
  expect(few?.deletes).toHaveLength(100);
  expect(few).not.toHaveProperty("more");
});
