import { describe, expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import { checkAfterRefusal, checkOutcomeOf, isCheckDue } from "#backup/object-check.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { BackupStep } from "#backup/step.ts";
import { check, GONE, ON_VOLUME, removal, stored } from "#kit/snapshots/etcd-backup.ts";
import type { Job } from "#kube/kinds.ts";
import type { Plan, Report } from "#runtime/decide.ts";

const MINUTE = 60_000;
/** The time of the day of schedule `daily`, once before and once after the fixture's time. */
const [DUE, NEXT] = ["2025-12-31T12:34:29.197Z", "2026-01-01T12:34:29.197Z"].map((time) => Date.parse(time)) as [number, number]; // biome-ignore format: two times

function at(ms: number, snapshot = stored()): BackupSnapshot {
  return { ...snapshot, takenAtMs: ms };
}

function later(ms: number, snapshot: BackupSnapshot): BackupSnapshot {
  return at(snapshot.takenAtMs + ms, snapshot);
}

function checkedAt(ms: number): BackupSnapshot {
  return stored({ status: { objectCheck: { time: new Date(ms).toISOString(), jobUID: "earlier" } } });
}

describe("a check is due", () => {
  test.each<[string, BackupSnapshot, boolean]>([
    ["at the schedule's time of the day", at(DUE), true],
    ["not a millisecond before", at(DUE - 1), false],
    ["when the last check was before that time", at(NEXT, checkedAt(NEXT - 1)), true],
    ["not when it was made at that time", at(NEXT, checkedAt(NEXT)), false],
    ["not until the time of the next day", at(NEXT - 1, checkedAt(DUE)), false],
    ["not when a clock that was a day ahead recorded the last one", at(DUE, checkedAt(NEXT)), false],
    ["when a clock that was more than a day ahead recorded the last one", at(DUE, checkedAt(NEXT + 1)), true],
    ["when the status has an invalid time", at(DUE, stored({ status: { completionTime: "soon" } })), true],
    ["not of an older backup", stored({ with: { isNewest: false } }), false],
    ["not of a failed backup", stored({ status: { phase: "Failed" } }), false],
    ["not of a backup that is being deleted", stored({ deleting: true }), false],
  ])("%s", (_, snapshot, is) => expect(isCheckDue(snapshot)).toBe(is));

  test("at another time of the day for another schedule", () => {
    const { backup } = stored();
    const metadata = { ...backup.metadata, namespace: "bar" };
    expect(isCheckDue(at(DUE, { ...stored(), backup: { ...backup, metadata } }))).toBe(false);
  });
});

/** While or after the Job of a check. */
function during(...args: Parameters<typeof check> extends [unknown, ...infer Rest] ? Rest : never): BackupSnapshot {
  return { ...stored(), checking: check(stored(), ...args) };
}

const { job } = check(stored(), "running");
const foreign = { ...job, metadata: { ...job.metadata, ownerReferences: [] } } as Job;
const FOUND = "True ObjectFound: the object and its manifest are stored";

/** The Job failed by a deadline, and its controller has deleted the pod. */
const withoutPod = { ...stored(), checking: { ...check(stored(), "failed"), pods: [] } };

test.each<[string, BackupSnapshot, string | undefined]>([
  ["is absent before the Job exists", stored(), undefined],
  ["is absent while the pod runs", during("running"), undefined],
  ["is absent while the pod starts", later(30 * MINUTE - 10_001, during("starting")), undefined],
  ["is Unknown when the pod has not started for half an hour", later(30 * MINUTE - 10_000, during("starting")), "Unknown PodPending: pod check-0123456789-uid-of-backup-abcde: container agent waits: ContainerCreating"],
  ["is Unknown when the pod has not ended for half an hour", later(30 * MINUTE - 10_000, during("running")), "Unknown DeadlineExceeded: the pod of Job check-0123456789-uid-of-backup has not ended within half an hour"],
  ["is True when the Job has succeeded", during("succeeded"), FOUND],
  ["is absent until the report of the ended pod is there", { ...stored(), checking: { ...check(stored(), "succeeded"), pods: [] } }, undefined],
  ["is True when the Job has succeeded and its report is lost", later(MINUTE, { ...stored(), checking: { ...check(stored(), "succeeded"), pods: [] } }), FOUND],
  ["is False when there is no object", during("failed", GONE), "False NoSuchObject: there is no object k"],
  ["is False when the object has another size", during("failed", failure("SnapshotCorrupt", "k has 1 bytes")), "False SnapshotCorrupt: k has 1 bytes"],
  ["is False when there is no bucket", during("failed", failure("NoSuchBucket", "no bucket")), "False NoSuchBucket: no bucket"],
  ["is Unknown when the store does not answer", during("failed", failure("StoreUnreachable", "no route")), "Unknown StoreUnreachable: no route"],
  ["is Unknown with wrong credentials, and names their Secret", during("failed", failure("WrongCredentials", "unknown key")), "Unknown WrongCredentials: unknown key (Secret s3)"],
  ["is Unknown when access is denied", during("failed", failure("AccessDenied", "no")), "Unknown AccessDenied: no (Secret s3)"],
  ["is Unknown when the failed Job has no pod", later(MINUTE, withoutPod), "Unknown AgentFailed: its pod left no report: Job check-0123456789-uid-of-backup: m (PodFailurePolicy)"],
  ["is absent when the status has it", { ...during("failed", GONE), backup: stored({ status: { objectCheck: { time: "2026-01-01T12:00:00Z", jobUID: job.metadata.uid } } }).backup }, undefined],
  ["is that of a Job for a backup that is no longer the newest", { ...during("failed", GONE), isNewest: false }, "False NoSuchObject: there is no object k"],
  ["is Unknown when a foreign Job has the name", { ...stored(), checking: { job: foreign, pods: [] } }, "Unknown NameTaken: Job check-0123456789-uid-of-backup has another owner"],
  ["ignores a foreign Job when no check is due", { ...checkedAt(DUE), checking: { job: foreign, pods: [] } }, undefined],
  ["is Unknown without the agent's image", stored({ with: { agentImage: undefined } }), "Unknown Waiting: the operator does not know its own image (--agent-image)"],
  ["is Unknown with an invalid destination", stored({ spec: { destination: {} } }), "Unknown SpecRefused: spec.destination is empty; it must have exactly one of s3, gcs, azure, volume and url"],
  ["is Unknown when the claim does not exist", stored({ spec: ON_VOLUME }), "Unknown ClaimNotAllowed: spec.destination.volume.claimName is backups, which this namespace does not have"],
])("the outcome of a check %s", (_, snapshot, expected) => {
  const outcome = checkOutcomeOf(snapshot);
  expect(outcome && `${outcome.status} ${outcome.reason}: ${outcome.message}`).toBe(expected);
}); // biome-ignore format: a table

test("the outcome has the uid of the Job that was made, and none without a Job", () => {
  for (const each of [during("succeeded"), during("failed", GONE), during("failed", failure("AccessDenied", "no"))])
    expect(checkOutcomeOf(each)?.jobUID).toBe(job.metadata.uid);
  expect(checkOutcomeOf(later(30 * MINUTE, during("running")))?.jobUID).toBe(job.metadata.uid);
  expect(checkOutcomeOf(stored({ with: { agentImage: undefined } }))).not.toHaveProperty("jobUID");
});

describe("a Job that the API server refuses", () => {
  const refused = (report: Partial<Report> = {}): Plan<BackupStep> => ({
    next: "settled",
    reports: [{ rule: "check-object", because: "quota", is: "refused", triedForMs: 30 * MINUTE, ...report }],
  });
  test.each<[string, BackupSnapshot, Plan<BackupStep>, string | undefined]>([
    ["ends the check after half an hour", stored(), refused(), "Unknown StepRefused: quota"],
    ["does not end it before", stored(), refused({ triedForMs: 30 * MINUTE - 1 }), undefined],
    ["does not end it when nothing is known about the time", stored(), { next: "settled", reports: [{ rule: "check-object", because: "quota", is: "refused" }] }, undefined],
    ["does not end it when another step was refused", stored(), refused({ rule: "clear-jobs" }), undefined],
    ["does not end it when nothing was refused", stored(), { next: "settled" }, undefined],
    ["does not end a check that is not due", checkedAt(DUE), refused(), undefined],
    ["does not end a check that runs after all", during("running"), refused(), undefined],
  ])("%s", (_, snapshot, plan, expected) => {
    const outcome = checkAfterRefusal(snapshot, plan);
    expect(outcome && `${outcome.status} ${outcome.reason}: ${outcome.message}`).toBe(expected);
  }); // biome-ignore format: a table
});

test("a check is not confused with the deletion of the object", () => {
  expect(check(stored(), "running").job.metadata.name).not.toBe(removal(stored(), "running").job.metadata.name);
});
