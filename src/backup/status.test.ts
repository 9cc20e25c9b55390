import { describe, expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import type { EtcdBackupStatus } from "#api/v1beta1/backup.ts";
import { planBackup } from "#backup/plan.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { backupStatus, failingStatus } from "#backup/status.ts";
import type { BackupStep } from "#backup/step.ts";
import { kstatusOf } from "#kit/kstatus.ts";
import {
  agentPod,
  attempt,
  BUSY,
  backup,
  check,
  GONE,
  goodTarget,
  removal,
  STORED,
  stored,
  told,
  verification,
  verified,
} from "#kit/snapshots/etcd-backup.ts";
import type { Job, Pod } from "#kube/kinds.ts";
import type { Plan, Rest } from "#runtime/decide.ts";

function statusOf(snapshot: BackupSnapshot, plan: Plan<BackupStep> = planBackup(snapshot)): EtcdBackupStatus {
  return backupStatus(snapshot, plan);
}

/** Status and reason of each condition, by type. */
function conditionsOf(snapshot: BackupSnapshot, plan?: Plan<BackupStep>): Record<string, string> {
  const { conditions = [] } = statusOf(snapshot, plan);
  return Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

function messageOf(snapshot: BackupSnapshot, type: string, plan?: Plan<BackupStep>): string | undefined {
  return statusOf(snapshot, plan).conditions?.find((each) => each.type === type)?.message;
}

const PROGRESS = {
  phase: "Copying",
  bytesRead: 5,
  bytesStored: 4,
  bytesExpected: 10,
  since: "2026-01-01T11:59:55Z",
} as const;
const { since: _, ...TOLD } = PROGRESS;
const EARLIER: EtcdBackupStatus = { phase: "BackingUp", startTime: "2026-01-01T11:59:01Z", progress: TOLD };

test("a running backup's status has phase, source, object URL, Job and start time, and no end", () => {
  const snapshot = backup();
  expect(statusOf(snapshot)).toEqual({
    observedGeneration: 1,
    phase: "BackingUp",
    source: "my-etcd",
    objectURL: goodTarget(snapshot).url,
    objectKey: goodTarget(snapshot).key,
    jobName: "nightly",
    startTime: "2026-01-01T12:00:00Z",
    conditions: ["Complete", "Failed", "Ready"].map((type) => ({
      ...{ type, status: "False", reason: "BackingUp", message: "a snapshot is being taken and stored" },
      ...{ observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00Z" },
    })),
  });
  expect(statusOf(backup({ status: EARLIER })).startTime).toBe("2026-01-01T11:59:01Z");
});

test("a condition keeps its time when only its reason changes", () => {
  const old = { status: "False" as const, reason: "PodPending", message: "", observedGeneration: 1 };
  const lastTransitionTime = "2026-01-01T11:00:00Z";
  const conditions = ["Complete", "Failed"].map((type) => ({ type, ...old, lastTransitionTime }));
  const snapshot = backup({ stage: "failed", status: { ...EARLIER, conditions } });
  expect(statusOf(snapshot).conditions).toMatchObject([
    { type: "Complete", status: "False", reason: "NoSpace", lastTransitionTime },
    { type: "Failed", status: "True", reason: "NoSpace", lastTransitionTime: "2026-01-01T12:00:00Z" },
    { type: "Ready", status: "False", reason: "NoSpace" },
    { type: "Stalled", status: "True", reason: "NoSpace", message: "the bucket is full" },
  ]);
  const failing = failingStatus(snapshot.backup, "Bug: x", Date.parse("2026-01-01T12:00:00Z"));
  expect(failing.conditions).toMatchObject([
    { type: "Complete", status: "Unknown" },
    { type: "Failed", lastTransitionTime },
    { type: "Ready", status: "Unknown" },
  ]);
  const going = backup({
    stage: "succeeded",
    spec: { deletionPolicy: "Delete" },
    status: { ...EARLIER, conditions, jobName: "nightly" },
    deleting: true,
    held: true,
  });
  expect(statusOf(going).conditions?.map(({ type }) => type)).toEqual(["Complete", "Failed", "ObjectDeleted"]);
});

test("the observed generation is 0 for an EtcdBackup without a generation", () => {
  const { generation: _, ...metadata } = backup().backup.metadata;
  const snapshot = { ...backup(), backup: { ...backup().backup, metadata } };
  expect(statusOf(snapshot).observedGeneration).toBe(0);
});

test("before the Job exists, the status has an object URL and no key", () => {
  const status = statusOf(backup({ stage: "new" }));
  expect(status).not.toHaveProperty("jobName");
  expect(status).not.toHaveProperty("objectKey");
  expect(status.objectURL).toMatch(/^s3:\/\/backups\/foo\/my-etcd\//);
  const { taking } = backup();
  const theirs = {
    ...taking!,
    job: { ...taking!.job, metadata: { ...taking!.job.metadata, ownerReferences: [] } } as Job,
  };
  expect(statusOf(backup({ with: { taking: theirs } }))).not.toHaveProperty("jobName");
});

test("the source shown for another etcd is its first endpoint", () => {
  expect(statusOf(backup({ spec: { source: { external: { endpoints: ["http://a:1", "http://b:1"] } } } })).source).toBe(
    "http://a:1",
  );
  expect(statusOf(backup({ stage: "new", spec: { source: {} } })).source).toBe("");
});

test("progress is shown while the Job runs, kept while the agent does not answer, and removed at the end", () => {
  expect(statusOf(backup({ with: { progress: PROGRESS } })).progress).toEqual(TOLD);
  expect(statusOf(backup({ status: EARLIER })).progress).toEqual(TOLD);
  expect(statusOf(backup())).not.toHaveProperty("progress");
  expect(statusOf(backup({ stage: "succeeded", status: EARLIER }))).not.toHaveProperty("progress");
});

test("a completed backup's status has its completion time and the stored object", () => {
  const snapshot = backup({ stage: "succeeded", status: EARLIER });
  expect(statusOf(snapshot)).toMatchObject({
    phase: "Completed",
    startTime: "2026-01-01T11:59:01Z",
    completionTime: "2026-01-01T12:00:00Z",
    object: {
      ...{ bytes: 1_000, storedBytes: 900, sha256: "ab", revision: "12", etcdVersion: "3.6.16" },
      ...{ clusterID: "cd", memberID: "ef", compression: "None", encrypted: false },
    },
  });
  expect(statusOf(snapshot).object).not.toHaveProperty("key");
  const object = { ...STORED, encrypted: true, keyID: "0a1b2c3d" };
  const encrypted = backup({ stage: "succeeded", report: { ok: true, kind: "backup", object } });
  expect(statusOf(encrypted).object).toMatchObject({ encrypted: true, keyID: "0a1b2c3d" });
  const plain = backup({ stage: "succeeded", report: { ok: true, kind: "backup", object: STORED } });
  expect(Object.keys(statusOf(plain).object!)).not.toContain("keyID");
  expect(conditionsOf(snapshot)).toEqual({
    Complete: "True Completed",
    Failed: "False Completed",
    Ready: "True Completed",
  });
});

const FAILED = {
  Complete: "False NoSpace",
  Failed: "True NoSpace",
  Ready: "False NoSpace",
  Stalled: "True NoSpace",
};

test("a failed backup's status has its completion time and reason, and no object", () => {
  const snapshot = backup({ stage: "failed", status: EARLIER });
  expect(statusOf(snapshot)).toMatchObject({ phase: "Failed", completionTime: "2026-01-01T12:00:00Z" });
  expect(statusOf(snapshot)).not.toHaveProperty("object");
  expect(conditionsOf(snapshot)).toEqual(FAILED);
  expect(messageOf(snapshot, "Failed")).toBe("the bucket is full");
});

describe("verification status", () => {
  const given = verified();
  const during = (stage: Parameters<typeof verification>[1], ends?: Parameters<typeof verification>[2]) => ({
    ...given,
    verifying: verification(given, stage, ends),
  });

  test("shows start, Job and result with the backup's earlier status", () => {
    const asked = statusOf({ ...given, verifying: undefined });
    expect(asked).toStrictEqual({
      ...given.backup.status,
      observedGeneration: 1,
      verification: { startTime: "2026-01-01T12:00:00Z" },
      conditions: [
        {
          ...{ type: "Verified", status: "Unknown", reason: "Verifying", message: "its Job is created next" },
          ...{ observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00Z" },
        },
      ],
    });
    const jobName = "verify-0123456789-uid-of-backup";
    const startTime = "2026-01-01T11:50:00Z";
    const begun = (snapshot: BackupSnapshot) =>
      statusOf({
        ...snapshot,
        backup: { ...given.backup, status: { ...given.backup.status, verification: { startTime } } },
      });
    expect(begun(during("running")).verification).toStrictEqual({ jobName, startTime });
    const right = begun(during("succeeded"));
    expect(right.verification).toStrictEqual({
      jobName,
      startTime,
      completionTime: "2026-01-01T12:00:00Z",
      revision: "12",
      keys: 7,
    });
    expect(right.conditions).toMatchObject([
      { type: "Verified", status: "True", reason: "Verified", message: "7 keys" },
    ]);
    const wrong = begun(during("failed", { fetch: [2, failure("SnapshotCorrupt", "no")] }));
    expect(wrong.verification).toStrictEqual({ jobName, startTime, completionTime: "2026-01-01T12:00:00Z" });
    expect(wrong.conditions).toMatchObject([
      { type: "Ready", status: "False" },
      { type: "Stalled", status: "True" },
      { status: "False", reason: "SnapshotCorrupt", message: "no" },
    ]);
    expect(statusOf({ ...given, backup: { ...given.backup, status: wrong } })).toEqual(wrong);
    const lost = { ...given, backup: { ...given.backup, status: begun(during("running")) } };
    expect(statusOf(lost).verification).toStrictEqual({ jobName, startTime });
  });

  test("keeps the backup's earlier conditions", () => {
    const complete = {
      type: "Complete",
      status: "True" as const,
      reason: "Completed",
      message: "",
      observedGeneration: 1,
    };
    const conditions = [{ ...complete, lastTransitionTime: "2026-01-01T11:00:00Z" }];
    const { backup: its } = verified({ status: { conditions } });
    expect(statusOf({ ...given, backup: its }).conditions).toMatchObject([conditions[0], { type: "Verified" }]);
  });

  test("shows the result even when a step is refused", () => {
    const plan = {
      ...planBackup(during("succeeded")),
      reports: [{ rule: "verify-object", because: "no", is: "refused" }],
    } as never;
    expect(statusOf(during("succeeded"), plan).conditions).toMatchObject([{ status: "True", reason: "Verified" }]);
  });

  test("does not show the name of a foreign Job", () => {
    const { job, pods } = verification(given, "running");
    const theirs = { pods, job: { ...job, metadata: { ...job.metadata, ownerReferences: [] } } as Job };
    expect(statusOf({ ...given, verifying: theirs }).verification).toEqual({ startTime: "2026-01-01T12:00:00Z" });
  });

  test("shows a refused Job creation, and fails a day after the request", () => {
    const refused = (snapshot: BackupSnapshot) =>
      statusOf(
        snapshot,
        planBackup(snapshot, () => ({ because: "quota", forMs: 1_000, isBrief: false })),
      );
    expect(refused(given).conditions).toMatchObject([
      { status: "Unknown", reason: "StepRefused", message: "verify-object: quota" },
    ]);
    const since = (startTime: string): BackupSnapshot => ({
      ...given,
      backup: { ...given.backup, status: { ...given.backup.status, verification: { startTime } } },
    });
    const almost = refused(since("2025-12-31T12:00:01Z"));
    expect(almost.conditions).toMatchObject([{ status: "Unknown", reason: "StepRefused" }]);
    expect(refused(since("2025-12-31T12:00:00Z"))).toMatchObject({
      verification: { completionTime: "2026-01-01T12:00:00Z" },
      conditions: [
        {
          status: "False",
          reason: "StepRefused",
          message: "verify-object: quota; the object could not be verified for 24 hours",
        },
      ],
    });
  });

  test("does not show a refused step that is not of the verification", () => {
    const refused = (rule: string) =>
      statusOf(during("running"), {
        next: "settled",
        reports: [{ rule, because: "quota", is: "refused" }],
      } as never).conditions?.map(({ reason }) => reason);
    expect(["check-object", "retry-verification"].map(refused)).toEqual([["Verifying"], ["StepRefused"]]);
  });

  test("is absent without spec.verification", () => {
    const quiet = verified({ spec: { verification: { mode: "None" } } });
    expect(statusOf(quiet)).toEqual({ ...quiet.backup.status, observedGeneration: 1 });
  });
});

test.each(["Completed", "Failed"] as const)("a %s backup keeps its status", (phase) => {
  const status: EtcdBackupStatus = { observedGeneration: 1, phase, completionTime: "2025-01-01T00:00:00Z" };
  expect(statusOf(backup({ stage: "running", status }))).toStrictEqual(status);
  expect(statusOf(backup({ stage: "new", status }))).toEqual(status);
});

test("the conditions of a backup that has ended hold for a later generation", () => {
  const ended = backup({ stage: "failed" });
  const { backup: before } = { ...ended, backup: { ...ended.backup, status: statusOf(ended) } };
  const edited = { ...before, metadata: { ...before.metadata, generation: 2 } };
  const status = statusOf({ ...ended, backup: edited });
  expect(status.observedGeneration).toBe(2);
  expect(status.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([2, 2, 2, 2]);
  expect(kstatusOf({ ...edited, status })).toBe("Failed");
});

const ARCHIVE = { from: "1", revision: "9", time: "2026-01-01T12:00:00Z", gaps: 0, objects: 1, bytes: 1 };
const archived = (archive: object) =>
  backup({ spec: { archive: {} } as never, with: { progress: { ...PROGRESS, archive: archive as never } } });

test.each<[string, BackupSnapshot, string, string]>([
  ["in progress", backup(), "False BackingUp", "InProgress"],
  ["stored", backup({ stage: "succeeded" }), "True Completed", "Current"],
  ["failed", backup({ stage: "failed" }), "False NoSpace", "Failed"],
  ["an archive that has not begun", backup({ spec: { archive: {} } as never }), "False BackingUp", "InProgress"],
  ["an archive that stores changes", archived(ARCHIVE), "True Archiving", "Current"],
  ["an archive that cannot store changes", archived({ ...ARCHIVE, message: "no" }), "False ArchiveStalled", "InProgress"],
])("Ready and kstatus of a backup that is %s", (_, snapshot, shown, expected) => {
  expect(conditionsOf(snapshot)).toMatchObject({ Ready: shown });
  expect(kstatusOf({ ...snapshot.backup, status: statusOf(snapshot) })).toBe(expected);
}); // biome-ignore format: a table

test.each([
  ["VerificationFailed", "Failed"],
  ["StoreUnreachable", "Current"],
] as const)("a stored backup is seen by kstatus after the verification result %s as %s", (reason, expected) => {
  const given = verified();
  const stored = statusOf(backup({ stage: "succeeded" })).conditions ?? [];
  const before = { ...given.backup, status: { ...given.backup.status, conditions: stored } };
  const snapshot = {
    ...given,
    backup: before,
    verifying: verification(given, "failed", { verify: [1, failure(reason, "m")] }),
  };
  const status = statusOf(snapshot);
  expect(kstatusOf({ ...before, status })).toBe(expected);
  const isDefective = expected === "Failed";
  expect(status.conditions?.find(({ type }) => type === "Ready")).toMatchObject(
    isDefective ? { status: "False", reason, message: "m" } : { status: "True", reason: "Completed" },
  );
  expect(status.conditions?.some(({ type }) => type === "Stalled")).toBe(isDefective);
});

/** The Job exists, and none of its pods has run. */
const NOTHING: EtcdBackupStatus = { ...EARLIER, jobName: "nightly", nothingStored: true };
/** A Job of this stage with this status, without pods. */
function alone(stage: "made" | "succeeded" | "failed", status: object = {}) {
  const { job } = attempt(backup(), stage);
  return { taking: { job: { ...job, status: { ...job.status, ...status } } as Job, pods: [] } };
}

/** Its pod, without container statuses. */
function unseen(status: object): Pod {
  return { ...agentPod(attempt(backup(), "made").job, {}, {}), status } as Pod;
}

test.each<[string, Parameters<typeof backup>[0], true | undefined]>([
  ["is true when the Job has no pod at its first observation", { stage: "made" }, true],
  ["is true while the pod has not started", { stage: "starting" }, true],
  ["is true while the pod has not started and the status has recorded it", { stage: "starting", status: NOTHING }, true],
  ["is true when the Job has failed and none of its pods ran", { status: NOTHING, with: alone("failed", { failed: 1 }) }, true],
  ["is true when the Job is gone and none of its pods ran", { stage: "new", status: NOTHING }, true],
  ["is absent before a Job exists", { stage: "new" }, undefined],
  ["is removed when the pod runs", { stage: "running", status: NOTHING }, undefined],
  ["is removed when the pod has ended", { stage: "failed", status: NOTHING }, undefined],
  ["is removed when an orphaned pod runs", { stage: "new", status: NOTHING, with: { orphans: attempt(backup(), "running").pods } }, undefined],
  ["is true while the pod has no container status", { with: { taking: { job: attempt(backup(), "made").job, pods: [unseen({ phase: "Pending" })] } } }, true],
  ["is absent when the agent runs in a pending pod", { with: { taking: { job: attempt(backup(), "made").job, pods: [agentPod(attempt(backup(), "made").job, { phase: "Pending" }, { running: {} })] } } }, undefined],
  ["is absent when the pod is Running without container state", { with: { taking: { job: attempt(backup(), "made").job, pods: [agentPod(attempt(backup(), "made").job, { phase: "Running" }, {})] } } }, undefined],
  ["is removed when the Job completed unobserved", { status: NOTHING, with: alone("succeeded") }, undefined],
  ["is absent when a pod may have run before the first observation", { with: alone("failed", { failed: 1 }) }, undefined],
  ["is absent when an earlier pod has run", { stage: "starting", status: { ...EARLIER, jobName: "nightly" } }, undefined],
  ["is removed when a pod runs after the backup has failed", { stage: "running", status: { ...NOTHING, phase: "Failed" } }, undefined],
  ["is true after the backup has failed", { stage: "new", status: { ...NOTHING, phase: "Failed" } }, true],
  ["is true while the EtcdBackup is being deleted", { stage: "starting", status: NOTHING, deleting: true, held: true, spec: { deletionPolicy: "Delete" } }, true],
  ["is removed when the pod runs while the EtcdBackup is being deleted", { stage: "running", status: NOTHING, deleting: true, held: true, spec: { deletionPolicy: "Delete" } }, undefined],
])("status.nothingStored %s", (_, given, recorded) => {
  expect(statusOf(backup(given)).nothingStored).toBe(recorded);
}); // biome-ignore format: a table

test.each<[string, Parameters<typeof backup>[0], EtcdBackupStatus]>([
  ["while the agent runs", {}, { jobName: "nightly" }],
  [
    "with nothingStored while the pod has not started",
    { stage: "starting" },
    { jobName: "nightly", nothingStored: true },
  ],
  ["when the Job has succeeded", { stage: "succeeded" }, { jobName: "nightly" }],
  [
    "without an object key when the spec has no destination",
    { stage: "new", with: { taking: attempt(backup(), "running") }, spec: { destination: {} } },
    { jobName: "nightly" },
  ],
])("the Job of an EtcdBackup deleted before its first observation is recorded: %s", (_, given, expected) => {
  const spec = { ...given?.spec, deletionPolicy: "Delete" };
  const { jobName, nothingStored, objectKey } = statusOf(backup({ ...given, spec, deleting: true, held: true }));
  expect({ jobName, ...(nothingStored === undefined ? {} : { nothingStored }) }).toEqual(expected);
  expect(objectKey === undefined).toBe(given?.spec !== undefined);
});

test("no Job name is recorded for a deleted EtcdBackup without a Job", () => {
  const going = { spec: { deletionPolicy: "Delete" }, deleting: true, held: true };
  expect(statusOf(backup({ ...going, stage: "new" }))).not.toHaveProperty("jobName");
});

describe("problems that block the plan:", () => {
  const refused = (code?: string): Rest => ({ because: "no", forMs: 1_000, isBrief: false, ...(code && { code }) });

  test.each([
    [undefined, "False StepRefused"],
    ["KubeInvalid", "False StepRefused"],
    ["KubeAlreadyExists", "False NameTaken"],
  ])("a refused creation of the Job, with code %s, is shown in both conditions", (code, shown) => {
    const snapshot = backup({ stage: "new" });
    const plan = planBackup(snapshot, () => refused(code));
    expect(conditionsOf(snapshot, plan)).toEqual({ Complete: shown, Failed: shown, Ready: shown });
    expect(messageOf(snapshot, "Complete", plan)).toBe("create-job: no");
  });

  const STARTED = { phase: "BackingUp", startTime: "2026-01-01T11:00:00Z" } as const;
  const afterMs = (ms: number) =>
    backup({ stage: "new", status: STARTED, with: { takenAtMs: Date.parse(STARTED.startTime) + ms } });

  test.each([
    ["KubeInvalid", "StepRefused"],
    ["KubeAlreadyExists", "NameTaken"],
  ])("a creation of the Job refused with %s for ten minutes fails the backup", (code, reason) => {
    const afterRefusal = (triedForMs?: number) => {
      const snapshot = afterMs(600_000);
      const rest = { ...refused(code), ...(triedForMs === undefined ? {} : { triedForMs }) };
      return statusOf(
        snapshot,
        planBackup(snapshot, () => rest),
      );
    };
    // Earlier waits do not count.
    expect(afterRefusal().phase).toBe("BackingUp");
    expect(afterRefusal(599_999).phase).toBe("BackingUp");
    expect(afterRefusal(600_000)).toMatchObject({
      phase: "Failed",
      completionTime: "2026-01-01T11:10:00Z",
      conditions: [
        { type: "Complete", status: "False", reason },
        { type: "Failed", status: "True", reason, message: "create-job: no; it was waited for 10 minutes" },
        { type: "Ready", status: "False", reason },
        { type: "Stalled", status: "True", reason },
      ],
    });
  });

  test("a finalizer that cannot be set is shown, and fails the backup after ten minutes", () => {
    const snapshot = backup({ stage: "new", spec: { deletionPolicy: "Delete" } });
    const held = (triedForMs: number, isBrief = false) =>
      planBackup(snapshot, () => ({ ...refused(), triedForMs, isBrief }));
    expect(conditionsOf(snapshot, held(0))).toMatchObject({ Complete: "False StepRefused" });
    expect(messageOf(snapshot, "Complete", held(0))).toBe("hold-backup: no");
    expect(conditionsOf(snapshot, held(600_000))).toMatchObject({ Failed: "True StepRefused" });
    expect(conditionsOf(snapshot, held(600_000, true))).toMatchObject({ Complete: "False BackingUp" });
  });

  test("an unknown operator image or a delayed step never fails the backup", () => {
    const given = afterMs(600_000);
    expect(statusOf({ ...given, agentImage: undefined }).phase).toBe("BackingUp");
    expect(statusOf(given, { ...planBackup(given), reports: [] }).phase).toBe("BackingUp");
    const delayed = planBackup(given, () => ({ ...refused(), triedForMs: 600_000, isBrief: true }));
    expect(statusOf(given, delayed).phase).toBe("BackingUp");
  });

  test("a request to retry later is not shown", () => {
    const snapshot = backup({ stage: "new" });
    const plan = planBackup(snapshot, () => ({ ...refused(), isBrief: true }));
    expect(conditionsOf(snapshot, plan)).toMatchObject({ Complete: "False BackingUp" });
  });

  test("a foreign Job with the backup's name is shown as NameTaken", () => {
    const { taking } = backup();
    const theirs = {
      ...taking!,
      job: { ...taking!.job, metadata: { ...taking!.job.metadata, ownerReferences: [] } } as Job,
    };
    expect(conditionsOf(backup({ with: { taking: theirs } }))).toMatchObject({ Complete: "False NameTaken" });
  });

  test("a backup that waits for others is shown as Waiting, and the wait counts toward no time limit", () => {
    const waiting = backup({ stage: "new", status: STARTED, with: { running: BUSY } });
    const waited = statusOf(waiting);
    expect(conditionsOf(waiting)).toEqual({
      Complete: "False Waiting",
      Failed: "False Waiting",
      Ready: "False Waiting",
    });
    expect(messageOf(waiting, "Complete")).toContain("at most 20 run at the same time (--running-backups)");
    expect(waited).toMatchObject({ phase: "BackingUp" });
    expect(waited).not.toHaveProperty("startTime");
    // Then the cluster is lost: its wait begins now.
    const lost = backup({ stage: "new", status: waited, with: { cluster: undefined } });
    expect(statusOf(lost)).toMatchObject({ phase: "BackingUp", startTime: "2026-01-01T12:00:00Z" });
  });

  describe("a backup with a refused Job that then waits for others:", () => {
    const QUOTA = (triedForMs = 0): Rest => ({ ...refused("KubeForbidden"), because: "exceeded quota", triedForMs });
    const minutes = (count: number) => Date.parse("2026-01-01T12:00:00Z") + count * 60_000;
    const at = (takenAtMs: number, status: EtcdBackupStatus, running?: typeof BUSY) =>
      backup({ stage: "new", status, with: { takenAtMs, ...(running === undefined ? {} : { running }) } });
    const refusedAt = (atMs: number, status: EtcdBackupStatus) => {
      const snapshot = at(atMs, status);
      return statusOf(
        snapshot,
        planBackup(snapshot, () => QUOTA()),
      );
    };
    const waitingAt = (atMs: number, status: EtcdBackupStatus) => statusOf(at(atMs, status, BUSY));
    const shownIn = ({ phase, startTime, conditions = [] }: EtcdBackupStatus) => {
      const { reason, message } = conditions.find(({ type }) => type === "Complete")!;
      return [phase, startTime, `${reason}: ${message}`];
    };
    const FIRST = refusedAt(minutes(1), waitingAt(minutes(0), {}));
    const SHOWN = ["BackingUp", "2026-01-01T12:01:00Z", "StepRefused: create-job: exceeded quota"];

    test("the status keeps the refusal and its time", () => {
      expect(shownIn(FIRST)).toEqual(SHOWN);
      expect(shownIn(waitingAt(minutes(2), FIRST))).toEqual(SHOWN);
      expect(shownIn(refusedAt(minutes(3), waitingAt(minutes(2), FIRST)))).toEqual(SHOWN);
    });

    test.each([
      ["a millisecond before ten minutes, a refusal does not fail it", 11 * 60_000 - 1, "BackingUp"],
      ["ten minutes after the first refusal, a refusal fails it", 11 * 60_000, "Failed"],
    ])("%s", (_, ms, phase) => {
      expect(refusedAt(minutes(0) + ms, waitingAt(minutes(5), FIRST)).phase).toBe(phase);
    });

    test("the wait alone does not fail it", () => {
      expect(shownIn(waitingAt(minutes(60), FIRST))).toEqual(SHOWN);
    });

    test("waits before the first refusal do not count", () => {
      const lost = statusOf(backup({ stage: "new", with: { takenAtMs: minutes(-9), cluster: undefined } }));
      expect(lost.startTime).toBe("2026-01-01T11:51:00Z");
      expect(shownIn(refusedAt(minutes(1), lost))).toEqual(SHOWN);
    });

    test("another refusal than the Job's is not kept", () => {
      const message = "hold-backup: no";
      const conditions = FIRST.conditions!.map((each) => ({ ...each, message }));
      const waiting = waitingAt(minutes(2), { ...FIRST, conditions });
      expect(waiting).not.toHaveProperty("startTime");
      expect(shownIn(waiting)[2]).toMatch(/^Waiting: /);
      // Nor does its time count for the Job.
      expect(refusedAt(minutes(20), { ...FIRST, conditions })).toMatchObject({
        phase: "BackingUp",
        startTime: "2026-01-01T12:20:00Z",
      });
    });

    test("a finalizer that is refused afterwards gets a time of its own", () => {
      const snapshot = backup({ stage: "new", spec: { deletionPolicy: "Delete" }, status: FIRST });
      const later = { ...snapshot, takenAtMs: minutes(20) };
      expect(
        statusOf(
          later,
          planBackup(later, () => QUOTA(1_000)),
        ).phase,
      ).toBe("BackingUp");
    });

    test("the refusal is not shown once the Job runs", () => {
      expect(shownIn(statusOf(backup({ status: FIRST })))[2]).toBe("BackingUp: a snapshot is being taken and stored");
    });
  });

  test("an operator that does not know its image is shown as Waiting", () => {
    const snapshot = backup({ stage: "new", with: { agentImage: undefined } });
    expect(conditionsOf(snapshot)).toMatchObject({ Complete: "False Waiting", Failed: "False Waiting" });
    expect(messageOf(snapshot, "Complete")).toContain("--agent-image");
  });

  test("a refused step is not shown for a failed backup", () => {
    const snapshot = backup({ stage: "failed" });
    const plan: Plan<BackupStep> = { ...planBackup(snapshot), reports: [{ rule: "r", because: "b", is: "refused" }] };
    expect(conditionsOf(snapshot, plan)).toEqual(FAILED);
  });
});

test("an observation's error makes Complete and Ready Unknown, unless the backup has ended", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  const { conditions, ...rest } = failingStatus(backup({ status: EARLIER }).backup, "Bug: x", now);
  expect(rest).toEqual(EARLIER);
  const unknown = { status: "Unknown", reason: "InternalError", message: "Bug: x" };
  const when = { observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00Z" };
  expect(conditions).toEqual([
    { type: "Complete", ...unknown, ...when },
    { type: "Ready", ...unknown, ...when },
  ]);
  for (const phase of ["Completed", "Failed"] as const)
    expect(failingStatus(backup({ status: { phase } }).backup, "Bug: x", now)).toEqual({ phase });
  const { generation: _, ...metadata } = backup().backup.metadata;
  const young = failingStatus({ ...backup().backup, metadata }, "Bug: x", now);
  expect(young.conditions).toMatchObject([{ observedGeneration: 0 }, { observedGeneration: 0 }]);
});

describe("while the EtcdBackup is being deleted", () => {
  const status: EtcdBackupStatus = { phase: "Completed", jobName: "nightly", conditions: [] };
  const going = (given: Partial<BackupSnapshot> = {}) =>
    backup({ stage: "succeeded", spec: { deletionPolicy: "Delete" }, status, deleting: true, held: true, with: given });

  test("the status does not change when the EtcdBackup has no finalizer of the operator", () => {
    expect(statusOf(backup({ stage: "failed", status, deleting: true }))).toEqual(status);
    expect(statusOf(backup({ stage: "new", deleting: true }))).toEqual({});
  });

  test("the deletion of the object is shown with the earlier status", () => {
    const deleting = going({ removing: removal(backup(), "running") });
    expect(statusOf(deleting)).toMatchObject({ phase: "Completed", jobName: "nightly" });
    expect(conditionsOf(deleting)).toEqual({ ObjectDeleted: "False DeletingObject" });
    expect(messageOf(deleting, "ObjectDeleted")).toBe("its object is being deleted");
  });

  test("a failed deletion is shown with the annotation that keeps the object", () => {
    const hindered = going({ removing: removal(backup(), "failed") });
    expect(conditionsOf(hindered)).toEqual({ ObjectDeleted: "False ObjectNotDeleted" });
    expect(messageOf(hindered, "ObjectDeleted")).toMatch(
      /^NoSpace: the bucket is full; to delete the EtcdBackup and keep s3:\S+, set its annotation etcd.improbable.io\/keep-object to "true"$/,
    );
  });

  test("a storing pod that has not ended after two minutes is shown", () => {
    const gone = { deletionTimestamp: "2026-01-01T11:58:00Z" };
    const pod = agentPod(attempt(backup(), "running").job, { phase: "Running" }, { running: {} }, gone);
    const lost = going({ taking: undefined, orphans: [pod] });
    expect(conditionsOf(lost)).toEqual({ ObjectDeleted: "False ObjectNotDeleted" });
    const ending = { ...lost, takenAtMs: Date.parse("2026-01-01T11:59:59Z") };
    expect(conditionsOf(ending)).toEqual({ ObjectDeleted: "False DeletingObject" });
    expect(messageOf(lost, "ObjectDeleted")).toMatch(
      /^PodPending: pod nightly-abcde should have ended .*keep-object to "true"$/,
    );
  });

  test("a refused creation of the deletion Job is shown", () => {
    const plan = planBackup(going(), () => ({ because: "quota", forMs: 1_000, isBrief: false }));
    expect(conditionsOf(going(), plan)).toEqual({ ObjectDeleted: "False ObjectNotDeleted" });
    expect(messageOf(going(), "ObjectDeleted", plan)).toMatch(/^delete-object: quota; to delete/);
  });

  test("a running deletion Job that cannot be deleted is shown without that annotation", () => {
    const annotations = { [KEEP_OBJECT_ANNOTATION]: "true" };
    const given = { spec: { deletionPolicy: "Delete" }, status, deleting: true, held: true, annotations };
    const keeping = backup({ ...given, stage: "succeeded", with: { removing: removal(backup(), "running") } });
    const plan = planBackup(keeping, () => ({ because: "no", forMs: 1_000, isBrief: false }));
    expect(conditionsOf(keeping, plan)).toEqual({ ObjectDeleted: "False ObjectNotDeleted" });
    expect(messageOf(keeping, "ObjectDeleted", plan)).toBe("stop-deletion: no");
  });
});

describe("after the daily check of the object, the status", () => {
  const [TIME, JOB] = ["2026-01-01T12:00:00Z", check(stored(), "succeeded").job.metadata.uid];
  const having = (snapshot: BackupSnapshot, stage: "succeeded" | "failed", report?: Parameters<typeof check>[2]) => ({
    ...snapshot,
    checking: check(snapshot, stage, report),
  });
  const READY = { Complete: "True Completed", Failed: "False Completed", Ready: "True Completed" };
  const LOST = {
    ...READY,
    ObjectFound: "False NoSuchObject",
    Ready: "False NoSuchObject",
    Stalled: "True NoSuchObject",
  };
  /** A backup with an object that was gone the day before. */
  const lost = stored({ status: { conditions: statusOf(having(stored(), "failed", GONE)).conditions } });
  const AWAY = failure("StoreUnreachable", "no route");

  test("has that the object was found, and stays Completed and Ready", () => {
    const snapshot = having(stored(), "succeeded");
    expect(statusOf(snapshot)).toMatchObject({ phase: "Completed", objectCheck: { time: TIME, jobUID: JOB } });
    expect(statusOf(snapshot).objectCheck).not.toHaveProperty("message");
    expect(conditionsOf(snapshot)).toEqual({ ...READY, ObjectFound: "True ObjectFound" });
    expect(kstatusOf({ ...snapshot.backup, status: statusOf(snapshot) })).toBe("Current");
  });

  test("has that the object is gone, and is no longer Ready", () => {
    const snapshot = having(stored(), "failed", GONE);
    expect(statusOf(snapshot)).toMatchObject({ phase: "Completed", objectCheck: { time: TIME, jobUID: JOB } });
    expect(conditionsOf(snapshot)).toEqual(LOST);
    expect(messageOf(snapshot, "Ready")).toBe("there is no object k");
    expect(kstatusOf({ ...snapshot.backup, status: statusOf(snapshot) })).toBe("Failed");
  });

  test("has why the check could not be made, and keeps the earlier result", () => {
    for (const snapshot of [stored(), lost]) {
      const { objectCheck, conditions } = statusOf(having(snapshot, "failed", AWAY));
      expect(objectCheck).toEqual({ time: TIME, jobUID: JOB, message: "StoreUnreachable: no route" });
      expect(conditions).toEqual(snapshot.backup.status?.conditions);
    }
  });

  test("is Ready again when the object was copied back", () => {
    const snapshot = having(lost, "succeeded");
    expect(conditionsOf(snapshot)).toEqual({
      ...READY,
      ObjectFound: "True ObjectFound",
      Stalled: "False Completed",
    });
    expect(messageOf(snapshot, "Ready")).toBe("the object is stored again, with its manifest");
    expect(kstatusOf({ ...snapshot.backup, status: statusOf(snapshot) })).toBe("Current");
  });

  test("is not Ready when a verification found wrong what is stored again", () => {
    const conditions = [...(lost.backup.status?.conditions ?? []), told("Verified", "False", "VerificationFailed")];
    expect(conditionsOf(having(stored({ status: { conditions } }), "succeeded"))).toEqual({
      ...LOST,
      ...{ Verified: "False VerificationFailed", ObjectFound: "True ObjectFound" },
    });
  });

  test("has the reason when the API server refuses its Job for half an hour", () => {
    const rest: Rest = { because: "quota", forMs: 1_000, triedForMs: 30 * 60_000, isBrief: false };
    const snapshot = stored();
    const plan = planBackup(snapshot, (rule) => (rule === "check-object" ? rest : undefined));
    expect(statusOf(snapshot, plan).objectCheck).toStrictEqual({ time: TIME, message: "StepRefused: quota" });
    expect(statusOf(snapshot, plan).conditions).toEqual(snapshot.backup.status?.conditions);
  });

  test("does not change when the result is recorded already", () => {
    const snapshot = having(stored(), "failed", GONE);
    const status = statusOf(snapshot);
    const next = { ...snapshot, takenAtMs: snapshot.takenAtMs + 1_000, backup: { ...snapshot.backup, status } };
    expect(statusOf(next)).toEqual(status);
  });
});
