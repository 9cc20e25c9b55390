import { expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { run, schedule } from "#kit/snapshots/schedule.ts";
import { disposalsIn, isMarked } from "#schedule/disposal.ts";
import { dryRunOf } from "#schedule/dry-run.ts";
import { releaseObject } from "#schedule/rules/disposal.ts";

const HOUR = 3_600_000;
const keepLast = { retention: { keepLast: 1 } };
/** Its object is deleted with it by its own spec. */
const going = run(NOW - HOUR, { deletionPolicy: "Delete", held: true });

test("a backup is marked only by the retention's annotation and finalizer", () => {
  expect(isMarked(going)).toBe(false);
  expect(isMarked(run(NOW, { given: true }))).toBe(true);
});

test("an object is not marked when its own policy deletes it, or when it does not exist", () => {
  expect(releaseObject.decide(schedule({ spec: keepLast, backups: [going, run(NOW)] }))).toBeUndefined();
  const failed = run(NOW - HOUR, { phase: "Failed" });
  const given = schedule({ spec: { failedBackupsHistoryLimit: 0 }, backups: [failed] });
  expect(releaseObject.decide(given)).toBeUndefined();
});

test("the retention keeps the newest verified backup", () => {
  const names = (verified: boolean) =>
    disposalsIn(
      schedule({ spec: keepLast, backups: [run(NOW - 2 * HOUR, { verified }), run(NOW - HOUR), run(NOW)] }),
    ).map(({ backup }) => backup.metadata.name);
  expect(names(true)).toEqual(["nightly-20260101-110000"]);
  expect(names(false)).toEqual(["nightly-20260101-100000", "nightly-20260101-110000"]);
});

test("the backups to delete are computed once per snapshot", () => {
  const annotations = { [DRY_RUN_ANNOTATION]: JSON.stringify(keepLast) };
  const given = schedule({ annotations, backups: [run(NOW - HOUR), run(NOW)] });
  expect(dryRunOf(given)).toBeDefined();
  expect(dryRunOf(given)).toBe(dryRunOf(given));
});

test("a backup with a missing object replaces no other and is never deleted", () => {
  const gone = (atMs: number) => run(atMs, { missing: "NoSuchObject" });
  const names = (...backups: readonly ReturnType<typeof run>[]) =>
    disposalsIn(schedule({ spec: keepLast, backups })).map(({ backup }) => backup.metadata.name);
  expect(names(run(NOW - HOUR), run(NOW))).toEqual(["nightly-20260101-110000"]);
  expect(names(run(NOW - HOUR), gone(NOW))).toEqual([]);
  expect(names(gone(NOW - HOUR), run(NOW))).toEqual([]);
  expect(names(gone(NOW - HOUR), gone(NOW))).toEqual([]);
});
