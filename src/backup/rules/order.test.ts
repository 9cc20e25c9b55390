import { expect, test } from "vitest";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { BACKUP_RULES, planBackup } from "#backup/plan.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { attempt, backup, ON_VOLUME, overTls, removal, verification, verified } from "#kit/etcd-backup.ts";
import type { Job } from "#kube/kinds.ts";

// When both rules have an opinion, the first one speaks: the place in the list is part of each rule.

const DELETE = { objectPolicy: "Delete" };
const MADE = { phase: "BackingUp", jobName: "nightly" } as const;
const going = { spec: DELETE, status: MADE, deleting: true, held: true };
const own = attempt(backup(), "running");
const theirs = { ...own, job: { ...own.job, metadata: { ...own.job.metadata, ownerReferences: [] } } as Job };
const minutes = (snapshot: BackupSnapshot, count: number) => ({
  ...snapshot,
  takenAtMs: snapshot.takenAtMs + count * 60_000,
});

const pairs: { first: string; second: string; so: string; given: BackupSnapshot }[] = [
  {
    first: "stop-backup",
    second: "release-backup",
    so: "no agent goes on when its EtcdBackup is gone",
    given: backup({ ...going, stage: "starting", status: { ...MADE, nothingStored: true } }),
  },
  {
    first: "stop-deletion",
    second: "release-backup",
    so: "an object that stays is not deleted behind the EtcdBackup that went",
    given: {
      ...backup({ ...going, stage: "new", annotations: { [KEEP_OBJECT_ANNOTATION]: "true" } }),
      removing: removal(backup(), "running"),
    },
  },
  {
    first: "release-backup",
    second: "retry-deletion",
    so: "who says that the object may stay need not wait for another try",
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
    so: "the garbage collector ends the Job",
    given: backup({ stage: "made", status: { phase: "Failed" }, deleting: true }),
  },
  {
    first: "renew-job",
    second: "await-job",
    so: "who waits for a Job waits for one that reaches the cluster",
    given: { ...backup({ spec: { archive: {} } }), cluster: overTls() },
  },
  {
    first: "verify-object",
    second: "await-verification",
    so: "who waits for a Job has made it",
    given: verified(),
  },
  {
    first: "verify-object",
    second: "ended",
    so: "a backup that is to be verified has more to do",
    given: verified(),
  },
  {
    first: "stop-verification",
    second: "ended",
    so: "no Job goes on that was given up",
    given: { ...verified({ spec: { verify: false } }), verifying: verification(verified(), "made") },
  },
  {
    first: "backup-failed",
    second: "job-taken",
    so: "what is wrong in the spec is told whoever has the name",
    given: { ...backup({ stage: "new", spec: { destination: {} } }), taking: theirs },
  },
  {
    first: "await-source",
    second: "await-image",
    so: "what people can mend is told first",
    given: backup({ stage: "new", with: { cluster: undefined, agentImage: undefined } }),
  },
  {
    first: "await-source",
    second: "await-claim",
    so: "the condition, which takes the lack of the cluster first, and the event say the same",
    given: backup({ stage: "new", spec: ON_VOLUME, with: { cluster: undefined } }),
  },
  {
    first: "await-claim",
    second: "await-image",
    so: "what people can mend is told first",
    given: backup({ stage: "new", spec: ON_VOLUME, with: { agentImage: undefined } }),
  },
  {
    first: "await-image",
    second: "hold-backup",
    so: "nothing holds a backup that cannot begin",
    given: backup({ stage: "new", spec: DELETE, with: { agentImage: undefined } }),
  },
];

for (const { first, second, so, given } of pairs) {
  test(`backup order: ${first} speaks before ${second}: ${so}`, () => {
    const having = BACKUP_RULES.filter((rule) => rule.decide(given) !== undefined).map(({ name }) => name);
    expect(having).toEqual(expect.arrayContaining([first, second]));
    const plan = planBackup(given);
    expect(plan.next === "settled" ? "deleting" : plan.rule).toBe(first);
  });
}
