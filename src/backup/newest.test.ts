import { expect, test } from "vitest";
import { SCHEDULE_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { isNewest } from "#backup/newest.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { run } from "#kit/snapshots/schedule.ts";

const HOUR = 3_600_000;

/** Whether this one of the schedule's backups is checked. */
function isChecked(backup: EtcdBackup, ...others: readonly EtcdBackup[]): boolean {
  const byIndex = (_: string, text: string) => (text === "foo/nightly" ? [backup, ...others] : []);
  return isNewest({ byIndex } as never, backup);
}

const [first, second, third] = [0, 1, 2].map((n) => run(NOW + n * HOUR)) as [EtcdBackup, EtcdBackup, EtcdBackup];
const gone = (hours: number) => run(NOW + hours * HOUR, { missing: "NoSuchObject" });
const unlabelled = { ...first, metadata: { ...first.metadata, labels: {} } };
const sameSecond = (name: string) => run(NOW, { metadata: { name } });

test.each<[string, EtcdBackup, readonly EtcdBackup[], boolean]>([
  ["the only backup is checked", first, [], true],
  ["the second newest is checked", first, [second], true],
  ["the third newest is not checked", first, [second, third], false],
  ["the newest is checked beside any number of older ones", third, [first, second], true],
  ["a newer backup that has failed does not count", first, [second, run(NOW + HOUR, { phase: "Failed" })], true],
  ["a newer backup that runs does not count", first, [second, run(NOW + HOUR, { phase: "active" })], true],
  ["a newer backup that is being deleted does not count", first, [second, run(NOW + HOUR, { deleting: true })], true],
  ["a newer backup with a missing object takes no place", first, [second, gone(1)], true],
  ["the sixth newest is not checked, although all newer ones are missing", first, [1, 2, 3, 4, 5].map(gone), false],
  ["the fifth newest is checked when all newer ones are missing", first, [1, 2, 3, 4].map(gone), true],
  ["a failed backup is not checked", run(NOW, { phase: "Failed" }), [], false],
  ["a backup that is being deleted is not checked", run(NOW, { deleting: true }), [], false],
  ["a backup of no schedule is not checked", unlabelled, [], false],
  ["of the same second, the greater names are newer", sameSecond("a"), [sameSecond("b"), sameSecond("c")], false],
  ["of the same second, the smaller names are older", sameSecond("c"), [sameSecond("a"), sameSecond("b")], true],
])("%s", (_, backup, others, is) => expect(isChecked(backup, ...others)).toBe(is)); // biome-ignore format: a table

test("backups of another schedule do not count", () => {
  const other = { ...first, metadata: { ...first.metadata, labels: { [SCHEDULE_LABEL]: "other" } } };
  expect(isChecked(other, second, third)).toBe(true);
});
