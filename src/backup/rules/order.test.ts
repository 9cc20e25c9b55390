import { expect, test } from "vitest";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { BACKUP_RULES, planBackup } from "#backup/plan.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import {
  attempt,
  BUSY,
  backup,
  check,
  ON_VOLUME,
  overTls,
  removal,
  stored,
  verification,
  verified,
  withProxy,
} from "#kit/snapshots/etcd-backup.ts";
import type { Job } from "#kube/kinds.ts";

// When both rules could decide, the first one does: the order is part of each rule.

const DELETE = { deletionPolicy: "Delete" };
const MADE = { phase: "BackingUp", jobName: "nightly" } as const;
const going = { spec: DELETE, status: MADE, deleting: true, held: true };
const own = attempt(backup(), "running");
const theirs = { ...own, job: { ...own.job, metadata: { ...own.job.metadata, ownerReferences: [] } } as Job };
const minutes = (snapshot: BackupSnapshot, count: number) => ({
  ...snapshot,
  takenAtMs: snapshot.takenAtMs + count * 60_000,
});

/** A backup that ended a day ago and is being verified. */
const endedADayAgo = minutes(
  {
    ...verified({ status: { completionTime: "2026-01-01T12:00:00Z", objectKey: "k" } }),
    ...{ taking: attempt(backup(), "succeeded"), verifying: verification(verified(), "running") },
  },
  24 * 60,
);

const pairs: { first: string; second: string; so: string; given: BackupSnapshot }[] = [
  {
    first: "stop-backup",
    second: "release-backup",
    so: "no agent continues after its EtcdBackup is gone",
    given: backup({ ...going, stage: "starting", status: { ...MADE, nothingStored: true } }),
  },
  {
    first: "verify-object",
    second: "check-object",
    so: "a verification, which also finds a lost object, does not wait for the daily check",
    given: { ...stored({ spec: { verification: { mode: "Restore" } } }), verifying: undefined },
  },
  {
    first: "stop-deletion",
    second: "release-backup",
    so: "a kept object is not deleted after its EtcdBackup is gone",
    given: {
      ...backup({ ...going, stage: "new", annotations: { [KEEP_OBJECT_ANNOTATION]: "true" } }),
      removing: removal(backup(), "running"),
    },
  },
  {
    first: "release-backup",
    second: "retry-deletion",
    so: "a deletion is not retried when a user keeps the object",
    given: minutes(
      {
        ...backup({ ...going, stage: "new", annotations: { [KEEP_OBJECT_ANNOTATION]: "true" } }),
        removing: removal(backup(), "failed"),
      },
      20,
    ),
  },
  {
    first: "deleting",
    second: "stop-job",
    so: "the garbage collector deletes the Job",
    given: backup({ stage: "made", status: { phase: "Failed" }, deleting: true }),
  },
  {
    first: "renew-job",
    second: "await-job",
    so: "the operator waits only for a Job that can reach the cluster",
    given: { ...backup({ spec: { archive: {} } }), cluster: overTls() },
  },
  {
    first: "verify-object",
    second: "await-verification",
    so: "the Job is created before the operator waits for it",
    given: verified(),
  },
  {
    first: "verify-object",
    second: "ended",
    so: "a completed backup is verified before nothing is left to do",
    given: verified(),
  },
  {
    first: "stop-verification",
    second: "ended",
    so: "the Job of a verification that ended is deleted",
    given: { ...verified({ spec: { verification: { mode: "None" } } }), verifying: verification(verified(), "made") },
  },
  {
    first: "backup-failed",
    second: "job-taken",
    so: "an invalid spec is reported even when the Job's name is taken",
    given: { ...backup({ stage: "new", spec: { destination: {} } }), taking: theirs },
  },
  {
    first: "await-source",
    second: "await-image",
    so: "a missing cluster, which a user can mend, is reported before a missing agent image",
    given: backup({ stage: "new", with: { cluster: undefined, agentImage: undefined } }),
  },
  {
    first: "await-source",
    second: "await-claim",
    so: "event and condition both report the missing cluster",
    given: backup({ stage: "new", spec: ON_VOLUME, with: { cluster: undefined } }),
  },
  {
    first: "await-claim",
    second: "await-image",
    so: "an unlabelled claim, which a user can mend, is reported before a missing agent image",
    given: backup({ stage: "new", spec: ON_VOLUME, with: { agentImage: undefined } }),
  },
  {
    first: "await-image",
    second: "hold-backup",
    so: "a backup that cannot begin gets no finalizer",
    given: backup({ stage: "new", spec: DELETE, with: { agentImage: undefined } }),
  },
  {
    first: "hold-backup",
    second: "await-turn",
    so: "the Job can be created as soon as a place is free",
    given: backup({ stage: "new", spec: DELETE, with: { running: BUSY } }),
  },
  {
    first: "await-turn",
    second: "create-job",
    so: "the number of running backups stays within its limit",
    given: backup({ stage: "new", with: { running: BUSY } }),
  },
  {
    first: "delete-object",
    second: "end-pod",
    so: "no verification is tried again for an EtcdBackup that is being deleted",
    given: {
      ...backup({ ...going, stage: "new", status: { ...MADE, phase: "Completed" } }),
      verifying: withProxy(verification(verified(), "failed", { verify: [1, "killed"] })),
    },
  },
  {
    first: "check-object",
    second: "await-verification",
    so: "a verification that waits for a day does not delay the check",
    given: stored({
      spec: { verification: { mode: "Restore" } },
      with: { verifying: verification(verified(), "running") },
    }),
  },
  {
    first: "record-check",
    second: "await-verification",
    so: "the result of the check is recorded while a verification waits",
    given: {
      ...stored({
        spec: { verification: { mode: "Restore" } },
        with: { verifying: verification(verified(), "running") },
      }),
      checking: check(stored(), "succeeded"),
    },
  },
  {
    first: "clear-check",
    second: "await-verification",
    so: "the Job of a check does not stay while a verification waits",
    given: {
      ...stored({
        spec: { verification: { mode: "Restore" } },
        status: {
          objectCheck: { time: "2026-01-01T12:00:00Z", jobUID: check(stored(), "succeeded").job.metadata.uid },
        },
        with: { verifying: verification(verified(), "running") },
      }),
      checking: check(stored(), "succeeded"),
    },
  },
  {
    first: "await-verification",
    second: "clear-jobs",
    so: "a person can read the logs of the backup while it is verified",
    given: endedADayAgo,
  },
];

for (const { first, second, so, given } of pairs) {
  test(`backup order: ${first} comes before ${second}: ${so}`, () => {
    const having = BACKUP_RULES.filter((rule) => rule.decide(given) !== undefined).map(({ name }) => name);
    expect(having).toEqual(expect.arrayContaining([first, second]));
    const plan = planBackup(given);
    expect(plan.next === "settled" ? "deleting" : plan.rule).toBe(first);
  });
}
