import { expect, test } from "vitest";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { backupJob, deletionJob } from "#backup/desired/job.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import { BACKUP_GUARDS } from "#backup/guards.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { BackupStep } from "#backup/step.ts";
import {
  attempt,
  backup,
  destinationClaim,
  goodTarget,
  IMAGE,
  ON_VOLUME,
  verified,
} from "#kit/snapshots/etcd-backup.ts";
import { testJudged } from "#kit/tables/judged-kinds.ts";
import type { Job } from "#kube/kinds.ts";

const snapshot = backup();
const target = goodTarget(snapshot);
const { job, pods } = attempt(snapshot, "running");
const theirs = { ...job, metadata: { ...job.metadata, ownerReferences: [] } } as Job;

/** One step of every kind. */
const STEPS: { readonly [Kind in BackupStep["do"]]: Extract<BackupStep, { do: Kind }> } = {
  holdBackup: { do: "holdBackup" },
  releaseBackup: { do: "releaseBackup" },
  createJob: { do: "createJob", job: backupJob(snapshot, target, IMAGE) },
  createVerificationJob: { do: "createVerificationJob", job: verificationJob(snapshot, target, IMAGE, "etcd:v3") },
  createDeletionJob: { do: "createDeletionJob", job: deletionJob(snapshot, target, IMAGE) },
  deleteJob: { do: "deleteJob", job },
};
function isVerified(status: "True" | "False" | "Unknown") {
  const condition = { type: "Verified", status, reason: "Verified", message: "", observedGeneration: 1 };
  return { ...condition, lastTransitionTime: "2026-01-01T12:00:00Z" };
}
const DELETE = { objectPolicy: "Delete" };
const going = { spec: DELETE, deleting: true, held: true };

const cases: Record<string, readonly [name: string, given: BackupSnapshot, step: BackupStep, is: "forbidden" | "allowed"][]> = {
  "own-only": [
    ["deleting its own Job", snapshot, STEPS.deleteJob, "allowed"],
    ["deleting a foreign Job", snapshot, { do: "deleteJob", job: theirs }, "forbidden"],
  ],
  "once-only": [
    ["a Job", backup({ stage: "new" }), STEPS.createJob, "allowed"],
    ["a Job for a completed backup", backup({ stage: "new", status: { phase: "Completed" } }), STEPS.createJob, "forbidden"],
    ["a Job for a failed backup", backup({ stage: "new", status: { phase: "Failed" } }), STEPS.createJob, "forbidden"],
    ["a Job for a backup that is being deleted", backup({ stage: "new", deleting: true }), STEPS.createJob, "forbidden"],
    ["deleting a Job of a completed backup", backup({ status: { phase: "Completed" } }), STEPS.createDeletionJob, "allowed"],
  ],
  "held-first": [
    ["a Job with policy Keep", backup({ stage: "new" }), STEPS.createJob, "allowed"],
    ["a Job with policy Delete", backup({ stage: "new", spec: DELETE }), STEPS.createJob, "forbidden"],
    ["a Job with policy Delete and the finalizer", backup({ stage: "new", spec: DELETE, held: true }), STEPS.createJob, "allowed"],
    ["a deletion", backup({ spec: DELETE }), STEPS.createDeletionJob, "allowed"],
  ],
  "asked-to-delete": [
    ["a deletion as requested", backup({ stage: "succeeded", ...going }), STEPS.createDeletionJob, "allowed"],
    ["a deletion without an earlier Job", backup({ stage: "new", ...going }), STEPS.createDeletionJob, "allowed"],
    ["a deletion with policy Keep", backup({ stage: "succeeded", ...going, spec: {} }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion while the EtcdBackup stays", backup({ stage: "succeeded", ...going, deleting: false }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion of an object that a user keeps", backup({ stage: "succeeded", ...going, annotations: { [KEEP_OBJECT_ANNOTATION]: "true" } }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion while the Job is active", backup({ stage: "made", ...going }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion while a pod runs", backup({ stage: "new", ...going, with: { orphans: pods } }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion while a foreign Job is active", backup({ ...going, with: { taking: { job: theirs, pods } } }), STEPS.createDeletionJob, "allowed"],
    ["deleting a Job", backup(), STEPS.deleteJob, "allowed"],
  ],
  "asked-to-verify": [
    ["a verification as requested", verified(), STEPS.createVerificationJob, "allowed"],
    ["a verification that was begun before", verified({ status: { conditions: [isVerified("Unknown")] } }), STEPS.createVerificationJob, "allowed"],
    ["a verification without spec.verify", verified({ spec: { verify: false } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification of a verified object", verified({ status: { conditions: [isVerified("True")] } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification of a defective object", verified({ status: { conditions: [isVerified("False")] } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification before the object exists", verified({ status: { phase: "BackingUp" } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification of a failed backup", verified({ status: { phase: "Failed" } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification for a backup that is being deleted", verified({ deleting: true }), STEPS.createVerificationJob, "forbidden"],
    ["a backup", backup({ stage: "new" }), STEPS.createJob, "allowed"],
  ],
  "claim-consents": [
    ["a Job in a bucket", backup(), STEPS.createJob, "allowed"],
    ["a Job on a labelled claim", backup({ spec: ON_VOLUME, with: { claim: destinationClaim() } }), STEPS.createJob, "allowed"],
    ["a Job on an unlabelled claim", backup({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createJob, "forbidden"],
    ["a Job on a missing claim", backup({ spec: ON_VOLUME }), STEPS.createJob, "forbidden"],
    ["a verification on an unlabelled claim", verified({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createVerificationJob, "forbidden"],
    ["a deletion on an unlabelled claim", backup({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createDeletionJob, "forbidden"],
    ["deleting a Job with an unlabelled claim", backup({ spec: ON_VOLUME }), STEPS.deleteJob, "allowed"],
  ],
}; // biome-ignore format: a table

for (const guard of BACKUP_GUARDS) {
  const { name, forbids } = guard;
  for (const [what, given, step, is] of cases[name] ?? [])
    test(`${name}: ${what} is ${is}`, () =>
      expect(forbids(given, step) === undefined ? "allowed" : "forbidden").toBe(is));

  test(`${name}: setting and removing the finalizer is always permitted`, () => {
    for (const step of [STEPS.holdBackup, STEPS.releaseBackup]) expect(forbids(snapshot, step)).toBeUndefined();
  });
}

test("every guard has a case that it refuses and one that it permits", () => {
  expect(Object.keys(cases)).toEqual(BACKUP_GUARDS.map(({ name }) => name));
  for (const each of Object.values(cases)) expect(new Set(each.map(([, , , is]) => is)).size).toBe(2);
});

/** Guards that judge each kind of step: every other guard permits it for any snapshot. */
const JUDGED_BY: Readonly<Record<BackupStep["do"], readonly string[]>> = {
  holdBackup: [],
  releaseBackup: [],
  createJob: ["once-only", "held-first", "claim-consents"],
  createVerificationJob: ["asked-to-verify", "claim-consents"],
  createDeletionJob: ["asked-to-delete", "claim-consents"],
  deleteJob: ["own-only"],
};
testJudged(
  BACKUP_GUARDS,
  STEPS,
  JUDGED_BY,
  Object.entries(cases).flatMap(([guard, rows]) => rows.map(([, given, step, is]) => ({ guard, given, step, is }))),
);
