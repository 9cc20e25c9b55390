import { expect, test } from "vitest";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { backupJob, deletionJob } from "#backup/desired/job.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import { BACKUP_GUARDS } from "#backup/guards.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { BackupStep } from "#backup/step.ts";
import { attempt, backup, destinationClaim, goodTarget, IMAGE, ON_VOLUME, verified } from "#kit/etcd-backup.ts";
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
    ["ending its own Job", snapshot, STEPS.deleteJob, "allowed"],
    ["ending somebody else's Job", snapshot, { do: "deleteJob", job: theirs }, "forbidden"],
  ],
  "once-only": [
    ["a Job", backup({ stage: "new" }), STEPS.createJob, "allowed"],
    ["a Job for what is completed", backup({ stage: "new", status: { phase: "Completed" } }), STEPS.createJob, "forbidden"],
    ["a Job for what has failed", backup({ stage: "new", status: { phase: "Failed" } }), STEPS.createJob, "forbidden"],
    ["a Job for what is being deleted", backup({ stage: "new", deleting: true }), STEPS.createJob, "forbidden"],
    ["a deletion of what is completed", backup({ status: { phase: "Completed" } }), STEPS.createDeletionJob, "allowed"],
  ],
  "held-first": [
    ["a Job whose object stays", backup({ stage: "new" }), STEPS.createJob, "allowed"],
    ["a Job whose object is to go", backup({ stage: "new", spec: DELETE }), STEPS.createJob, "forbidden"],
    ["a Job whose object is to go, held", backup({ stage: "new", spec: DELETE, held: true }), STEPS.createJob, "allowed"],
    ["a deletion", backup({ spec: DELETE }), STEPS.createDeletionJob, "allowed"],
  ],
  "asked-to-delete": [
    ["a deletion that was asked for", backup({ stage: "succeeded", ...going }), STEPS.createDeletionJob, "allowed"],
    ["a deletion without a Job before", backup({ stage: "new", ...going }), STEPS.createDeletionJob, "allowed"],
    ["a deletion of what stays", backup({ stage: "succeeded", ...going, spec: {} }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion while the backup stays", backup({ stage: "succeeded", ...going, deleting: false }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion of what a person wants to keep", backup({ stage: "succeeded", ...going, annotations: { [KEEP_OBJECT_ANNOTATION]: "true" } }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion while the Job is active", backup({ stage: "made", ...going }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion while a pod runs", backup({ stage: "new", ...going, with: { orphans: pods } }), STEPS.createDeletionJob, "forbidden"],
    ["a deletion while somebody else's Job is active", backup({ ...going, with: { taking: { job: theirs, pods } } }), STEPS.createDeletionJob, "allowed"],
    ["ending a Job", backup(), STEPS.deleteJob, "allowed"],
  ],
  "asked-to-verify": [
    ["a verification that was asked for", verified(), STEPS.createVerificationJob, "allowed"],
    ["a verification that was begun before", verified({ status: { conditions: [isVerified("Unknown")] } }), STEPS.createVerificationJob, "allowed"],
    ["a verification that nobody asked for", verified({ spec: { verify: false } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification of what is verified", verified({ status: { conditions: [isVerified("True")] } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification of what was found wrong", verified({ status: { conditions: [isVerified("False")] } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification of what is not there yet", verified({ status: { phase: "BackingUp" } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification of what has failed", verified({ status: { phase: "Failed" } }), STEPS.createVerificationJob, "forbidden"],
    ["a verification of what is being deleted", verified({ deleting: true }), STEPS.createVerificationJob, "forbidden"],
    ["a backup", backup({ stage: "new" }), STEPS.createJob, "allowed"],
  ],
  "claim-consents": [
    ["a Job in a bucket", backup(), STEPS.createJob, "allowed"],
    ["a Job on a claim that is meant for it", backup({ spec: ON_VOLUME, with: { claim: destinationClaim() } }), STEPS.createJob, "allowed"],
    ["a Job on a claim that does not say so", backup({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createJob, "forbidden"],
    ["a Job on a claim that is not there", backup({ spec: ON_VOLUME }), STEPS.createJob, "forbidden"],
    ["a verification on a claim that does not say so", verified({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createVerificationJob, "forbidden"],
    ["a deletion on a claim that does not say so", backup({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createDeletionJob, "forbidden"],
    ["ending a Job whose claim does not say so", backup({ spec: ON_VOLUME }), STEPS.deleteJob, "allowed"],
  ],
}; // biome-ignore format: a table

for (const guard of BACKUP_GUARDS) {
  const { name, forbids } = guard;
  for (const [what, given, step, is] of cases[name] ?? [])
    test(`${name}: ${what} is ${is}`, () =>
      expect(forbids(given, step) === undefined ? "allowed" : "forbidden").toBe(is));

  test(`${name}: holding and letting go are always allowed`, () => {
    for (const step of [STEPS.holdBackup, STEPS.releaseBackup]) expect(forbids(snapshot, step)).toBeUndefined();
  });
}

test("every guard has a case that forbids and one that allows", () => {
  expect(Object.keys(cases)).toEqual(BACKUP_GUARDS.map(({ name }) => name));
  for (const each of Object.values(cases)) expect(new Set(each.map(([, , , is]) => is)).size).toBe(2);
});
