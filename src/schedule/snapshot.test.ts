import { expect, test } from "vitest";
import { defectOf } from "#api/defect.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { run, schedule } from "#kit/snapshots/schedule.ts";
import { backupFor } from "#schedule/desired/backup.ts";
import { byAge, byRevision, isSettled } from "#schedule/snapshot.ts";

type Condition = NonNullable<NonNullable<EtcdBackup["status"]>["conditions"]>[number];

/** A backup with spec.verification and these conditions. */
function saying(...conditions: readonly Partial<Condition>[]): EtcdBackup {
  const made = run(NOW, { doubted: "VerificationFailed" });
  const [given] = made.status!.conditions!;
  return { ...made, status: { ...made.status!, conditions: conditions.map((each) => ({ ...given!, ...each })) } };
}

test("a backup is defective only when its verification has found a defect", () => {
  expect(defectOf(saying({}))).toMatchObject({ reason: "VerificationFailed" });
  expect(defectOf(saying({ type: "Failed" }))).toBeUndefined();
  expect(defectOf(saying({ status: "Unknown" }))).toBeUndefined();
  expect(defectOf(saying({ reason: "NodeLost" }))).toBeUndefined();
});

test("a backup does not count as a later one while its verification runs", () => {
  expect(isSettled(saying({ type: "Failed", status: "False" }, { status: "Unknown" }))).toBe(false);
  expect(isSettled(saying({ type: "Failed", status: "Unknown" }, { status: "True" }))).toBe(true);
});

test("a backup of which the cache keeps only a stub awaits no verification", () => {
  const { spec, ...rest } = saying({ type: "Failed" });
  expect(isSettled({ ...rest, spec })).toBe(false);
  expect(isSettled({ ...rest, spec: { source: spec.source } as EtcdBackup["spec"] })).toBe(true);
});

test("backups of one etcd cluster are sorted by revision, then time, then name", () => {
  const [nine, ten] = ["9", "10"].map((revision) => run(NOW, { etcd: "a", revision })) as [EtcdBackup, EtcdBackup];
  expect([byRevision(nine, ten), byRevision(ten, nine)]).toEqual([-1, 1]);
  const named = (name: string) => run(NOW, { etcd: "a", metadata: { name } });
  expect([byRevision(named("a"), named("b")), byRevision(named("b"), named("a"))]).toEqual([-1, 1]);
  expect(byAge(named("a"), named("b"))).toBe(-1);
});

test("a new run is verified unless another verification runs", () => {
  const asked = (...backups: EtcdBackup[]) =>
    backupFor(schedule({ spec: { verification: { every: 1 } }, backups }), NOW, 0).spec?.verification?.mode;
  expect(asked(saying({}))).toBe("Restore");
  expect(asked(run(NOW, { phase: "active" }))).toBe("Restore");
  expect(asked(saying({ status: "Unknown" }))).toBe("None");
});
