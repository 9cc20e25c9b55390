import { expect, test } from "vitest";
import { defectOf } from "#api/defect.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { NOW } from "#kit/cluster.ts";
import { run, schedule } from "#kit/schedule.ts";
import { backupFor } from "#schedule/desired/backup.ts";
import { byAge, byRevision, isSettled } from "#schedule/snapshot.ts";

type Condition = NonNullable<NonNullable<EtcdBackup["status"]>["conditions"]>[number];

/** A backup that is to be verified, of which these conditions are told. */
function saying(...conditions: readonly Partial<Condition>[]): EtcdBackup {
  const made = run(NOW, { doubted: "VerificationFailed" });
  const [given] = made.status!.conditions!;
  return { ...made, status: { ...made.status!, conditions: conditions.map((each) => ({ ...given!, ...each })) } };
}

test("only a verification that has ended finds something wrong with the data", () => {
  expect(defectOf(saying({}))).toMatchObject({ reason: "VerificationFailed" });
  expect(defectOf(saying({ type: "Failed" }))).toBeUndefined();
  expect(defectOf(saying({ status: "Unknown" }))).toBeUndefined();
  expect(defectOf(saying({ reason: "NodeLost" }))).toBeUndefined();
});

test("while its verification goes on, no other one goes for its sake", () => {
  expect(isSettled(saying({ type: "Failed", status: "False" }, { status: "Unknown" }))).toBe(false);
  expect(isSettled(saying({ type: "Failed", status: "Unknown" }, { status: "True" }))).toBe(true);
});

test("of one etcd its own revision says which is the later one, then the time, then the name", () => {
  const [nine, ten] = ["9", "10"].map((revision) => run(NOW, { etcd: "a", revision })) as [EtcdBackup, EtcdBackup];
  expect([byRevision(nine, ten), byRevision(ten, nine)]).toEqual([-1, 1]);
  const named = (name: string) => run(NOW, { etcd: "a", metadata: { name } });
  expect([byRevision(named("a"), named("b")), byRevision(named("b"), named("a"))]).toEqual([-1, 1]);
  expect(byAge(named("a"), named("b"))).toBe(-1);
});

test("a run is verified beside one that was found wrong, or has not ended, and not beside one that is being verified", () => {
  const asked = (...backups: EtcdBackup[]) =>
    backupFor(schedule({ spec: { verifyEvery: 1 }, backups }), NOW, 0).spec?.verify;
  expect(asked(saying({}))).toBe(true);
  expect(asked(run(NOW, { phase: "active" }))).toBe(true);
  expect(asked(saying({ status: "Unknown" }))).not.toBe(true);
});
