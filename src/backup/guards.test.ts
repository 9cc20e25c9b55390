import { expect, test } from "vitest";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { backupJob, checkJob, deletionJob } from "#backup/desired/job.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import { BACKUP_GUARDS } from "#backup/guards.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { BackupStep } from "#backup/step.ts";
import {
  attempt,
  backup,
  check,
  destinationClaim,
  goodTarget,
  IMAGE,
  ON_VOLUME,
  stored,
  verified,
} from "#kit/snapshots/etcd-backup.ts";
import { testJudged } from "#kit/tables/judged-kinds.ts";
import type { Job } from "#kube/kinds.ts";

const snapshot = backup();
const target = goodTarget(snapshot);
const { job, pods } = attempt(snapshot, "running");
const theirs = { ...job, metadata: { ...job.metadata, ownerReferences: [] } } as Job;
/** The Job with its owner reference changed. */
function owned(change: object): Job {
  const [owner] = job.metadata.ownerReferences!;
  return { ...job, metadata: { ...job.metadata, ownerReferences: [{ ...owner!, ...change }] } } as Job;
}

/** One step of every kind. */
const STEPS: { readonly [Kind in BackupStep["do"]]: Extract<BackupStep, { do: Kind }> } = {
  holdBackup: { do: "holdBackup" },
  releaseBackup: { do: "releaseBackup" },
  createJob: { do: "createJob", job: backupJob(snapshot, target, IMAGE) },
  createVerificationJob: { do: "createVerificationJob", job: verificationJob(snapshot, target, IMAGE, "etcd:v3") },
  createCheckJob: { do: "createCheckJob", job: checkJob(snapshot, target, IMAGE) },
  createDeletionJob: { do: "createDeletionJob", job: deletionJob(snapshot, target, IMAGE) },
  deleteJob: { do: "deleteJob", job },
  deletePod: { do: "deletePod", pod: pods[0]! },
};
function isVerified(status: "True" | "False" | "Unknown") {
  const condition = { type: "Verified", status, reason: "Verified", message: "", observedGeneration: 1 };
  return { ...condition, lastTransitionTime: "2026-01-01T12:00:00Z" };
}
const DELETE = { deletionPolicy: "Delete" };
const going = { spec: DELETE, deleting: true, held: true };

const cases: Record<string, readonly [name: string, given: BackupSnapshot, step: BackupStep, is: "forbidden" | "allowed"][]> = {
  "own-only": [
    ["deleting a Job of the backup", snapshot, STEPS.deleteJob, "allowed"],
    ["deleting a foreign Job", snapshot, { do: "deleteJob", job: theirs }, "forbidden"],
    ["deleting a Job of an earlier backup of this name", snapshot, { do: "deleteJob", job: owned({ uid: "old" }) }, "forbidden"],
    ["deleting a pod of its Job", backup({ with: { taking: { job, pods } } }), STEPS.deletePod, "allowed"],
    ["deleting a pod of the Job of its check", { ...stored(), checking: check(stored(), "running") }, { do: "deletePod", pod: check(stored(), "running").pods[0]! }, "allowed"],
    ["deleting a pod of a foreign Job", backup({ with: { taking: { job: theirs, pods } } }), STEPS.deletePod, "forbidden"],
    ["deleting a pod of another Job", backup({ stage: "new" }), STEPS.deletePod, "forbidden"],
    ["deleting a pod of another Job while the backup has a Job", backup({ with: { taking: { job: owned({}), pods } } }), { do: "deletePod", pod: { ...pods[0]!, metadata: { ...pods[0]!.metadata, ownerReferences: [{ ...pods[0]!.metadata.ownerReferences![0]!, uid: "other" }] } } }, "forbidden"],
    ["deleting a Job that another object controls", snapshot, { do: "deleteJob", job: owned({ controller: false }) }, "forbidden"],
  ],
  "once-only": [
    ["creating a Job for a new backup", backup({ stage: "new" }), STEPS.createJob, "allowed"],
    ["creating a Job for a completed backup", backup({ stage: "new", status: { phase: "Completed" } }), STEPS.createJob, "forbidden"],
    ["creating a Job for a failed backup", backup({ stage: "new", status: { phase: "Failed" } }), STEPS.createJob, "forbidden"],
    ["creating a Job for a backup that is being deleted", backup({ stage: "new", deleting: true }), STEPS.createJob, "forbidden"],
    ["creating a deletion Job for a completed backup", backup({ status: { phase: "Completed" } }), STEPS.createDeletionJob, "allowed"],
  ],
  "held-first": [
    ["creating a Job with policy Retain", backup({ stage: "new" }), STEPS.createJob, "allowed"],
    ["creating a Job with policy Delete and no finalizer", backup({ stage: "new", spec: DELETE }), STEPS.createJob, "forbidden"],
    ["creating a Job with policy Delete and the finalizer", backup({ stage: "new", spec: DELETE, held: true }), STEPS.createJob, "allowed"],
    ["creating a deletion Job without the finalizer", backup({ spec: DELETE }), STEPS.createDeletionJob, "allowed"],
  ],
  "asked-to-delete": [
    ["deleting the object of a deleted EtcdBackup with policy Delete", backup({ stage: "succeeded", ...going }), STEPS.createDeletionJob, "allowed"],
    ["deleting the object when the Job is gone", backup({ stage: "new", ...going }), STEPS.createDeletionJob, "allowed"],
    ["deleting the object with policy Retain", backup({ stage: "succeeded", ...going, spec: {} }), STEPS.createDeletionJob, "forbidden"],
    ["deleting the object while the EtcdBackup is not being deleted", backup({ stage: "succeeded", ...going, deleting: false }), STEPS.createDeletionJob, "forbidden"],
    ["deleting the object that a user keeps", backup({ stage: "succeeded", ...going, annotations: { [KEEP_OBJECT_ANNOTATION]: "true" } }), STEPS.createDeletionJob, "forbidden"],
    ["deleting the object while the Job is active", backup({ stage: "made", ...going }), STEPS.createDeletionJob, "forbidden"],
    ["deleting the object while a pod of the backup runs", backup({ stage: "new", ...going, with: { orphans: pods } }), STEPS.createDeletionJob, "forbidden"],
    ["deleting the object while a foreign Job is active", backup({ ...going, with: { taking: { job: theirs, pods } } }), STEPS.createDeletionJob, "allowed"],
    ["deleting a Job", backup(), STEPS.deleteJob, "allowed"],
  ],
  "asked-to-verify": [
    ["verifying the object of a completed backup with spec.verification", verified(), STEPS.createVerificationJob, "allowed"],
    ["verifying the object again when the result is Unknown", verified({ status: { conditions: [isVerified("Unknown")] } }), STEPS.createVerificationJob, "allowed"],
    ["verifying the object without spec.verification", verified({ spec: { verification: { mode: "None" } } }), STEPS.createVerificationJob, "forbidden"],
    ["verifying an object that is verified", verified({ status: { conditions: [isVerified("True")] } }), STEPS.createVerificationJob, "forbidden"],
    ["verifying an object that failed its verification", verified({ status: { conditions: [isVerified("False")] } }), STEPS.createVerificationJob, "forbidden"],
    ["verifying the object before the backup is completed", verified({ status: { phase: "BackingUp" } }), STEPS.createVerificationJob, "forbidden"],
    ["verifying the object of a failed backup", verified({ status: { phase: "Failed" } }), STEPS.createVerificationJob, "forbidden"],
    ["verifying the object of a backup that is being deleted", verified({ deleting: true }), STEPS.createVerificationJob, "forbidden"],
    ["creating a backup Job", backup({ stage: "new" }), STEPS.createJob, "allowed"],
  ],
  "stored-to-check": [
    ["checking a stored object", stored(), STEPS.createCheckJob, "allowed"],
    ["checking before the object is stored", backup(), STEPS.createCheckJob, "forbidden"],
    ["checking after a failed backup", stored({ status: { phase: "Failed" } }), STEPS.createCheckJob, "forbidden"],
    ["checking for an EtcdBackup that is being deleted", stored({ deleting: true }), STEPS.createCheckJob, "forbidden"],
    ["creating a backup Job", backup({ stage: "new" }), STEPS.createJob, "allowed"],
  ],
  "claim-consents": [
    ["storing in a bucket", backup(), STEPS.createJob, "allowed"],
    ["storing on a labelled claim", backup({ spec: ON_VOLUME, with: { claim: destinationClaim() } }), STEPS.createJob, "allowed"],
    ["storing on an unlabelled claim", backup({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createJob, "forbidden"],
    ["storing on a claim that does not exist", backup({ spec: ON_VOLUME }), STEPS.createJob, "forbidden"],
    ["verifying an object on an unlabelled claim", verified({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createVerificationJob, "forbidden"],
    ["checking an object on an unlabelled claim", stored({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createCheckJob, "forbidden"],
    ["deleting an object on an unlabelled claim", backup({ spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), STEPS.createDeletionJob, "forbidden"],
    ["deleting a Job with a claim that does not exist", backup({ spec: ON_VOLUME }), STEPS.deleteJob, "allowed"],
  ],
}; // biome-ignore format: a table

for (const guard of BACKUP_GUARDS) {
  const { name, forbids } = guard;
  for (const [what, given, step, is] of cases[name] ?? [])
    test(`guard ${name}: ${what} is ${is}`, () =>
      expect(forbids(given, step) === undefined ? "allowed" : "forbidden").toBe(is));

  test(`guard ${name}: setting and removing the finalizer is always allowed`, () => {
    for (const step of [STEPS.holdBackup, STEPS.releaseBackup]) expect(forbids(snapshot, step)).toBeUndefined();
  });
}

test("every guard has a case that it forbids and one that it allows", () => {
  expect(Object.keys(cases)).toEqual(BACKUP_GUARDS.map(({ name }) => name));
  for (const each of Object.values(cases)) expect(new Set(each.map(([, , , is]) => is)).size).toBe(2);
});

/** Guards that judge each kind of step: every other guard permits it for any snapshot. */
const JUDGED_BY: Readonly<Record<BackupStep["do"], readonly string[]>> = {
  holdBackup: [],
  releaseBackup: [],
  createJob: ["once-only", "held-first", "claim-consents"],
  createVerificationJob: ["asked-to-verify", "claim-consents"],
  createCheckJob: ["stored-to-check", "claim-consents"],
  createDeletionJob: ["asked-to-delete", "claim-consents"],
  deleteJob: ["own-only"],
  deletePod: ["own-only"],
};
testJudged(
  BACKUP_GUARDS,
  STEPS,
  JUDGED_BY,
  Object.entries(cases).flatMap(([guard, rows]) => rows.map(([, given, step, is]) => ({ guard, given, step, is }))),
);
