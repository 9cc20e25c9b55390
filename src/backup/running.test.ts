import { describe, expect, test } from "vitest";
import { countRunning, isFull, isRunning, OPEN, openIndexOf } from "#backup/running.ts";
import { awaitsTurn } from "#backup/snapshot.ts";
import { attempt, backup, check, removal, stored, verification, verified } from "#kit/snapshots/etcd-backup.ts";
import type { Job } from "#kube/kinds.ts";

const snapshot = backup();
const { job } = attempt(snapshot, "running");
const MINUTE = 60_000;
const ready = { ...job, status: { active: 1, ready: 1 } } as Job;
const madeMs = Date.parse(job.metadata.creationTimestamp ?? "");

describe("the index of open Jobs", () => {
  const labels = { "etcd.improbable.io/backup-name": "nightly" };
  test.each<[string, Job, boolean]>([
    ["has a Job with a pod that runs", job, true],
    ["has no Job that has succeeded", attempt(snapshot, "succeeded").job, false],
    ["has no Job that has failed", attempt(snapshot, "failed").job, false],
    ["has a Job that checks an object", check(stored(), "running").job, true],
    ["has no Job that has checked an object", check(stored(), "succeeded").job, false],
    ["has no Job that verifies an object", verification(verified(), "running").job, false],
    ["has no Job that deletes an object", removal(snapshot, "running").job, false],
    ["has no Job without the label of a backup", { ...job, metadata: { ...job.metadata, labels: {} } }, false],
    ["has no Job of a restore", { ...job, metadata: { ...job.metadata, name: "restore-1", labels } }, false],
  ])("%s", (_, given, isIn) => expect(openIndexOf(given)).toEqual(isIn ? [OPEN] : []));
});

describe("a backup", () => {
  const archive = backup({ spec: { archive: {} } }).backup;
  const recreated = { ...snapshot.backup, metadata: { ...snapshot.backup.metadata, uid: "other" } };
  test.each<[string, Job, typeof archive | undefined, number, boolean]>([
    ["runs while its pod is Ready", ready, snapshot.backup, 59 * MINUTE, true],
    ["no longer counts after an hour", ready, snapshot.backup, 60 * MINUTE, false],
    ["counts for a minute without a Ready pod", job, snapshot.backup, MINUTE - 1, true],
    ["does not count after a minute without a Ready pod", job, snapshot.backup, MINUTE, false],
    ["counts when the clock is half a minute behind", job, snapshot.backup, -30_000, true],
    ["does not count when the clock is hours behind", ready, snapshot.backup, -120 * MINUTE, false],
    ["does not count when it is an archive", ready, archive, 0, false],
    ["does not count without its EtcdBackup", ready, undefined, 0, false],
    ["does not count by the Job of an earlier EtcdBackup", ready, recreated, 0, false],
  ])("%s", (_, of, its, ageMs, is) => expect(isRunning(of, its, madeMs + ageMs)).toBe(is));

  test("does not count when its Job has no time of creation", () => {
    const { creationTimestamp: _, ...metadata } = job.metadata;
    expect(isRunning({ ...ready, metadata } as Job, snapshot.backup, snapshot.takenAtMs)).toBe(false);
  });
});

test("an archive waits for no place", () => {
  expect([snapshot, backup({ spec: { archive: {} } })].map(awaitsTurn)).toEqual([true, false]);
});

test("a namespace counts for at most two thirds of all places, whatever Jobs it has", () => {
  const theirs = Array<string>(30).fill("theirs");
  expect(countRunning([...theirs, "ours"], "ours", 20)).toEqual({ all: 15, inNamespace: 1, most: 20 });
  expect(countRunning(theirs, "theirs", 20)).toEqual({ all: 14, inNamespace: 30, most: 20 });
  expect(isFull(countRunning(theirs, "theirs", 20))).toBe(true);
  expect(countRunning(theirs, "ours", 1)).toEqual({ all: 1, inNamespace: 0, most: 1 });
  // As many as a namespace gets alone, so that it gets no further place.
  expect(isFull(countRunning(["theirs", "theirs"], "theirs", 4))).toBe(false);
  expect(isFull(countRunning(["theirs", "theirs", "theirs"], "theirs", 4))).toBe(true);
  expect(countRunning([], "ours", 20)).toEqual({ all: 0, inNamespace: 0, most: 20 });
});

test.each([
  ["the first of one place", 0, 0, 1, false],
  ["the second of one place", 1, 1, 1, true],
  ["the last within two thirds of all places", 13, 13, 20, false],
  ["more than two thirds of all places for one namespace", 14, 14, 20, true],
  ["a place in a second namespace", 14, 0, 20, false],
  ["the last place for a third namespace", 19, 0, 20, false],
  ["no place", 20, 0, 20, true],
  ["fewer than no place, after the flag was lowered", 30, 0, 20, true],
])("%s: %d run, %d in the namespace, of %d", (_, all, inNamespace, most, is) => {
  expect(isFull({ all, inNamespace, most })).toBe(is);
});
