import { describe, expect, test } from "vitest";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import { backupReady, backupStatus } from "./backup-ready.ts";

const TIME = "2026-01-01T12:00:00Z";

/** A schedule with this name and these conditions. */
function schedule(
  name: string,
  conditions: Readonly<Record<string, string>>,
  spec: object = {},
  more: object = {},
): EtcdBackupSchedule {
  const told = Object.entries(conditions).map(([type, message]) => ({
    ...{ type, status: message.startsWith("no ") ? ("False" as const) : ("True" as const), message },
    reason: message === "no backup has ended yet" ? "NoBackupYet" : "R",
    ...{ observedGeneration: 1, lastTransitionTime: TIME },
  }));
  const made = etcdBackupSchedule({ spec, status: { conditions: told, ...more } });
  return { ...made, metadata: { ...made.metadata, name } };
}

function snapshot(schedules: readonly EtcdBackupSchedule[], status: object = {}): ClusterSnapshot {
  const whole = cluster();
  return { ...whole, schedules, cluster: { ...whole.cluster, status: { ...whole.cluster.status, ...status } } };
}

const good = schedule("a", { Ready: "next", BackupReady: "stored" });
const bad = schedule("b", { Ready: "next", BackupReady: "no backup" });
const suspended = schedule("c", { Ready: "none is made", BackupReady: "no backup" }, { suspend: true });
const young = { Ready: "next", BackupReady: "no backup has ended yet" };
const notDue = schedule("h", young);
const running = schedule("i", young, {}, { lastScheduleTime: TIME });
const hindered = schedule("j", { ...young, Ready: "no right" });
const stuck = schedule("d", { Ready: "no right", BackupReady: "stored" });
const fresh = schedule("e", {});
const half = schedule("f", { Ready: "next" });

describe("BackupReady", () => {
  test.each<[string, readonly EtcdBackupSchedule[], string | undefined]>([
    ["is absent without a schedule", [], undefined],
    ["is True when the schedule's last run left a good backup", [good], "True BackedUp: a: stored"],
    ["is False when one of two schedules has no good backup", [good, bad], "False BackupMissing: b: no backup"],
    ["is False when a schedule creates no backups", [stuck, bad], "False BackupMissing: d: no right; b: no backup"],
    ["ignores a suspended schedule when another schedule is active", [good, suspended], "True BackedUp: a: stored"],
    ["has no backup due when the only schedule is suspended", [suspended], "False NoBackupDue: c: spec.suspend is true: no backups are made"],
    ["has no backup due before the first due time", [notDue, good], "False NoBackupDue: h: no backup has ended yet"],
    ["lacks a backup when another schedule's first is only due", [notDue, bad], "False BackupMissing: h: no backup has ended yet; b: no backup"],
    ["lacks a backup when the first run was due", [running], "False BackupMissing: i: no backup has ended yet"],
    ["lacks a backup when the first run is prevented", [hindered], "False BackupMissing: j: no right"],
    ["is False when a schedule has no status yet", [fresh], "False BackupMissing: e: it has no status yet"],
    ["is False when a schedule lacks its condition BackupReady", [half], "False BackupMissing: f: it has no status yet"],
    ["is True with the messages of two good schedules", [good, schedule("g", { Ready: "next", BackupReady: "stored, too" })], "True BackedUp: a: stored; g: stored, too"],
  ])("%s", (_, schedules, expected) => {
    const verdict = backupReady({ snapshot: snapshot(schedules) });
    expect(verdict && `${verdict.status} ${verdict.reason}: ${verdict.message}`).toBe(expected);
  }); // biome-ignore format: a table

  test("is False after the last schedule was deleted", () => {
    const condition = { type: "BackupReady", status: "True", reason: "BackedUp", message: "m" };
    expect(backupReady({ snapshot: snapshot([], { conditions: [condition] }) })).toEqual({
      status: "False",
      reason: "NoSchedule",
      message: "no EtcdBackupSchedule names this cluster any more",
    });
    expect(backupReady({ snapshot: snapshot([], { conditions: [{ ...condition, type: "Ready" }] }) })).toBeUndefined();
  });
});

describe("status.backup", () => {
  const made = (name: string, creationTime: string) => ({ name, creationTime, revision: "7" });
  const early = { name: "early", creationTime: "2026-01-01T10:00:00Z" };
  const late = { name: "late", creationTime: "2026-01-01T11:00:00Z" };

  test("is absent before the first backup", () => {
    expect(backupStatus(snapshot([good]))).toEqual({});
  });

  test("has the latest backup and verification of all schedules", () => {
    const one = schedule("a", {}, {}, { lastSuccessful: made("late", late.creationTime), lastVerified: early });
    const two = schedule("b", {}, {}, { lastSuccessful: made("early", early.creationTime), lastVerified: late });
    expect(backupStatus(snapshot([one, two]))).toEqual({ backup: { lastSuccessful: late, lastVerified: late } });
    expect(backupStatus(snapshot([two, one]))).toEqual({ backup: { lastSuccessful: late, lastVerified: late } });
    const only = schedule("a", {}, {}, { lastVerified: early });
    expect(backupStatus(snapshot([only]))).toEqual({ backup: { lastVerified: early } });
  });

  test("is kept when its schedule is deleted or reports an older backup", () => {
    const backup = { lastSuccessful: late };
    expect(backupStatus(snapshot([], { backup }))).toStrictEqual({ backup });
    const verified = { lastVerified: early };
    expect(backupStatus(snapshot([], { backup: verified }))).toStrictEqual({ backup: verified });
    const older = schedule("a", {}, {}, { lastSuccessful: made("early", early.creationTime) });
    expect(backupStatus(snapshot([older], { backup }))).toEqual({ backup });
  });

  describe("of a schedule that exists", () => {
    const lost = { name: "a-20260101-110000", creationTime: late.creationTime };
    const before = { backup: { lastSuccessful: lost, lastVerified: lost } };
    const conditions = { Ready: "next", BackupReady: "no object" };
    const reporting = (status: object) => schedule("a", conditions, {}, status);
    const missing = (name: string) => {
      const made = reporting({});
      const all = made.status!.conditions!.map((each) => ({ ...each, reason: "ObjectMissing" as const }));
      return { ...made, metadata: { ...made.metadata, name }, status: { conditions: all } };
    };

    test("is what the schedule reports, since the object of the recorded backup may be gone", () => {
      const older = reporting({ lastSuccessful: made("a-20260101-100000", early.creationTime) });
      const lastSuccessful = { name: "a-20260101-100000", creationTime: early.creationTime };
      expect(backupStatus(snapshot([older], before))).toEqual({ backup: { lastSuccessful } });
      expect(backupStatus(snapshot([missing("a")], before))).toEqual({});
    });

    test("is kept while a schedule of the name reports nothing, and beside other schedules", () => {
      expect(backupStatus(snapshot([reporting({})], before))).toEqual(before);
      expect(backupStatus(snapshot([missing("b")], before))).toEqual(before);
    });
  });
});
