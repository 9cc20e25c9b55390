import { expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { NOW } from "#kit/cluster.ts";
import { run, schedule } from "#kit/schedule.ts";
import { isMarked } from "#schedule/disposal.ts";
import { dryRunOf } from "#schedule/dry-run.ts";
import { giveObject } from "#schedule/rules/disposal/give-object.ts";

const HOUR = 3_600_000;
const keepLast = { retention: { keepLast: 1 } };
/** Its object goes with it because its own spec says so. */
const going = run(NOW - HOUR, { objectPolicy: "Delete", held: true });

test("only what the retention has given away is marked, not what goes by its own spec", () => {
  expect(isMarked(going)).toBe(false);
  expect(isMarked(run(NOW, { given: true }))).toBe(true);
});

test("no object is given away that goes anyway, or of which there is none", () => {
  expect(giveObject.decide(schedule({ spec: keepLast, backups: [going, run(NOW)] }))).toBeUndefined();
  const failed = run(NOW - HOUR, { phase: "Failed" });
  const given = schedule({ spec: { failedBackupsHistoryLimit: 0 }, backups: [failed] });
  expect(giveObject.decide(given)).toBeUndefined();
});

test("what an edit would delete is found once for each look", () => {
  const annotations = { [DRY_RUN_ANNOTATION]: JSON.stringify(keepLast) };
  const given = schedule({ annotations, backups: [run(NOW - HOUR), run(NOW)] });
  expect(dryRunOf(given)).toBeDefined();
  expect(dryRunOf(given)).toBe(dryRunOf(given));
});
