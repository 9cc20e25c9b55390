import { describe, expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import type { EtcdBackupStatus } from "#api/v1beta1/backup.ts";
import { planBackup } from "#backup/plan.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { backupStatus, failingStatus } from "#backup/status.ts";
import type { BackupStep } from "#backup/step.ts";
import { agentPod, attempt, backup, goodTarget, removal, verification, verified } from "#kit/etcd-backup.ts";
import type { Job, Pod } from "#kube/kinds.ts";
import type { Plan, Rest } from "#runtime/decide.ts";

function statusOf(snapshot: BackupSnapshot, plan: Plan<BackupStep> = planBackup(snapshot)): EtcdBackupStatus {
  return backupStatus(snapshot, plan);
}

/** By type: status and reason. */
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

test("at work: phase, whence, whither, since when, and no end", () => {
  const snapshot = backup();
  expect(statusOf(snapshot)).toEqual({
    observedGeneration: 1,
    phase: "BackingUp",
    source: "my-etcd",
    objectURL: goodTarget(snapshot).url,
    objectKey: goodTarget(snapshot).key,
    jobName: "nightly",
    startTime: "2026-01-01T12:00:00Z",
    conditions: ["Complete", "Failed"].map((type) => ({
      ...{ type, status: "False", reason: "BackingUp", message: "a snapshot is being taken and stored" },
      ...{ observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00Z" },
    })),
  });
  expect(statusOf(backup({ status: EARLIER })).startTime).toBe("2026-01-01T11:59:01Z");
});

test("since when something is so is told, also when its reason changes", () => {
  const old = { status: "False" as const, reason: "PodPending", message: "", observedGeneration: 1 };
  const lastTransitionTime = "2026-01-01T11:00:00Z";
  const conditions = ["Complete", "Failed"].map((type) => ({ type, ...old, lastTransitionTime }));
  const snapshot = backup({ stage: "failed", status: { ...EARLIER, conditions } });
  expect(statusOf(snapshot).conditions).toMatchObject([
    { type: "Complete", status: "False", reason: "NoSpace", lastTransitionTime },
    { type: "Failed", status: "True", reason: "NoSpace", lastTransitionTime: "2026-01-01T12:00:00Z" },
  ]);
  const failing = failingStatus(snapshot.backup, "Bug: x", Date.parse("2026-01-01T12:00:00Z"));
  expect(failing.conditions).toMatchObject([
    { type: "Complete", status: "Unknown" },
    { type: "Failed", lastTransitionTime },
  ]);
  const going = backup({
    stage: "succeeded",
    spec: { objectPolicy: "Delete" },
    status: { ...EARLIER, conditions, jobName: "nightly" },
    deleting: true,
    held: true,
  });
  expect(statusOf(going).conditions?.map(({ type }) => type)).toEqual(["Complete", "Failed", "ObjectDeleted"]);
});

test("of a spec whose changes nobody counts it is the first", () => {
  const { generation: _, ...metadata } = backup().backup.metadata;
  const snapshot = { ...backup(), backup: { ...backup().backup, metadata } };
  expect(statusOf(snapshot).observedGeneration).toBe(0);
});

test("before the Job is made, where it goes is not decided", () => {
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

test("the source of an etcd of somebody else is its first endpoint", () => {
  expect(statusOf(backup({ spec: { source: { endpoints: ["http://a:1", "http://b:1"] } } })).source).toBe("http://a:1");
  expect(statusOf(backup({ stage: "new", spec: { source: {} } })).source).toBe("");
});

test("progress is told while it runs, kept while nobody answers, and gone at the end", () => {
  expect(statusOf(backup({ with: { progress: PROGRESS } })).progress).toEqual(TOLD);
  expect(statusOf(backup({ status: EARLIER })).progress).toEqual(TOLD);
  expect(statusOf(backup())).not.toHaveProperty("progress");
  expect(statusOf(backup({ stage: "succeeded", status: EARLIER }))).not.toHaveProperty("progress");
});

test("completed: when, and what was stored", () => {
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
  expect(conditionsOf(snapshot)).toEqual({ Complete: "True Completed", Failed: "False Completed" });
});

test("failed: when and why, and nothing was stored", () => {
  const snapshot = backup({ stage: "failed", status: EARLIER });
  expect(statusOf(snapshot)).toMatchObject({ phase: "Failed", completionTime: "2026-01-01T12:00:00Z" });
  expect(statusOf(snapshot)).not.toHaveProperty("object");
  expect(conditionsOf(snapshot)).toEqual({ Complete: "False NoSpace", Failed: "True NoSpace" });
  expect(messageOf(snapshot, "Failed")).toBe("the bucket is full");
});

describe("of an object that is verified", () => {
  const given = verified();
  const during = (stage: Parameters<typeof verification>[1], ends?: Parameters<typeof verification>[2]) => ({
    ...given,
    verifying: verification(given, stage, ends),
  });

  test("it is told since when, by whom, and at the end what was found, beside all that the backup said", () => {
    const asked = statusOf({ ...given, verifying: undefined });
    expect(asked).toStrictEqual({
      ...given.backup.status,
      observedGeneration: 1,
      verification: { startTime: "2026-01-01T12:00:00Z" },
      conditions: [
        {
          ...{ type: "Verified", status: "Unknown", reason: "Verifying", message: "its Job is about to be made" },
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
      time: "2026-01-01T12:00:00Z",
      revision: "12",
      keys: 7,
    });
    expect(right.conditions).toMatchObject([
      { type: "Verified", status: "True", reason: "Verified", message: "7 keys" },
    ]);
    const wrong = begun(during("failed", { fetch: [2, failure("SnapshotCorrupt", "no")] }));
    expect(wrong.verification).toStrictEqual({ jobName, startTime, time: "2026-01-01T12:00:00Z" });
    expect(wrong.conditions).toMatchObject([{ status: "False", reason: "SnapshotCorrupt", message: "no" }]);
    expect(statusOf({ ...given, backup: { ...given.backup, status: wrong } })).toEqual(wrong);
    const lost = { ...given, backup: { ...given.backup, status: begun(during("running")) } };
    expect(statusOf(lost).verification).toStrictEqual({ jobName, startTime });
  });

  test("what was told of the backup stays", () => {
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

  test("what was found is told, whatever else is refused", () => {
    const plan = { ...planBackup(during("succeeded")), aside: [{ rule: "r", because: "no", is: "refused" }] } as never;
    expect(statusOf(during("succeeded"), plan).conditions).toMatchObject([{ status: "True", reason: "Verified" }]);
  });

  test("somebody else's Job is not called its own", () => {
    const { job, pods } = verification(given, "running");
    const theirs = { pods, job: { ...job, metadata: { ...job.metadata, ownerReferences: [] } } as Job };
    expect(statusOf({ ...given, verifying: theirs }).verification).toEqual({ startTime: "2026-01-01T12:00:00Z" });
  });

  test("a Job that is refused is told, and given up after ten minutes", () => {
    const refused = (snapshot: BackupSnapshot, triedForMs = 0) =>
      statusOf(
        snapshot,
        planBackup(snapshot, () => ({ because: "quota", forMs: 1_000, triedForMs, isBrief: false })),
      );
    expect(refused(given).conditions).toMatchObject([
      { status: "Unknown", reason: "StepRefused", message: "verify-object: quota" },
    ]);
    const verification = { startTime: "2026-01-01T11:50:00Z" };
    const late = {
      ...given,
      backup: { ...given.backup, status: { ...given.backup.status, verification } },
    } as BackupSnapshot;
    expect(refused(late, 599_999).conditions).toMatchObject([{ status: "Unknown", reason: "StepRefused" }]);
    expect(refused(late, 600_000)).toMatchObject({
      verification: { time: "2026-01-01T12:00:00Z" },
      conditions: [
        { status: "False", reason: "StepRefused", message: "verify-object: quota; it was waited for 10 minutes" },
      ],
    });
  });

  test("nothing is told of what nobody asked for", () => {
    const quiet = verified({ spec: { verify: false } });
    expect(statusOf(quiet)).toEqual(quiet.backup.status);
  });
});

test.each(["Completed", "Failed"] as const)("%s is for ever", (phase) => {
  const status: EtcdBackupStatus = { phase, completionTime: "2025-01-01T00:00:00Z" };
  expect(statusOf(backup({ stage: "running", status }))).toEqual(status);
  expect(statusOf(backup({ stage: "new", status }))).toEqual(status);
});

/** The Job is made, and no pod of it has run. */
const NOTHING: EtcdBackupStatus = { ...EARLIER, jobName: "nightly", nothingStored: true };
/** The same Job, with this status and without its pods. */
function alone(stage: "made" | "succeeded" | "failed", status: object = {}) {
  const { job } = attempt(backup(), stage);
  return { taking: { job: { ...job, status: { ...job.status, ...status } } as Job, pods: [] } };
}

/** Its pod, without a word on its containers. */
function unseen(status: object): Pod {
  return { ...agentPod(attempt(backup(), "made").job, {}, {}), status } as Pod;
}

test.each<[string, Parameters<typeof backup>[0], true | undefined]>([
  ["at the first look at its Job", { stage: "made" }, true],
  ["while its pod does not run", { stage: "starting" }, true],
  ["as long as that is on record", { stage: "starting", status: NOTHING }, true],
  ["when the Job has given up such a pod", { status: NOTHING, with: alone("failed", { failed: 1 }) }, true],
  ["when its Job is gone", { stage: "new", status: NOTHING }, true],
  ["not before there is a Job", { stage: "new" }, undefined],
  ["not while its pod runs", { stage: "running", status: NOTHING }, undefined],
  ["not when its pod has ended", { stage: "failed", status: NOTHING }, undefined],
  ["not when another pod runs that has lost its Job", { stage: "new", status: NOTHING, with: { orphans: attempt(backup(), "running").pods } }, undefined],
  ["while the kubelet has said nothing of its pod", { with: { taking: { job: attempt(backup(), "made").job, pods: [unseen({ phase: "Pending" })] } } }, true],
  ["not when its agent runs in a pod that does not yet", { with: { taking: { job: attempt(backup(), "made").job, pods: [agentPod(attempt(backup(), "made").job, { phase: "Pending" }, { running: {} })] } } }, undefined],
  ["not when its pod was to run at least", { with: { taking: { job: attempt(backup(), "made").job, pods: [agentPod(attempt(backup(), "made").job, { phase: "Running" }, {})] } } }, undefined],
  ["not when its Job has completed unseen", { status: NOTHING, with: alone("succeeded") }, undefined],
  ["not when a pod may have run before the first look", { with: alone("failed", { failed: 1 }) }, undefined],
  ["not when one has run before", { stage: "starting", status: { ...EARLIER, jobName: "nightly" } }, undefined],
  ["no more when its pod has run after it was given up", { stage: "running", status: { ...NOTHING, phase: "Failed" } }, undefined],
  ["also after it was given up", { stage: "new", status: { ...NOTHING, phase: "Failed" } }, true],
  ["also when it is being deleted", { stage: "starting", status: NOTHING, deleting: true, held: true, spec: { objectPolicy: "Delete" } }, true],
  ["not when its pod has run when it is being deleted", { stage: "running", status: NOTHING, deleting: true, held: true, spec: { objectPolicy: "Delete" } }, undefined],
])("that nothing is stored is told: %s", (_, given, told) => {
  expect(statusOf(backup(given)).nothingStored).toBe(told);
}); // biome-ignore format: a table

test.each<[string, Parameters<typeof backup>[0], EtcdBackupStatus]>([
  ["while its agent runs", {}, { jobName: "nightly" }],
  ["while its pod does not run", { stage: "starting" }, { jobName: "nightly", nothingStored: true }],
  ["when it has ended", { stage: "succeeded" }, { jobName: "nightly" }],
  [
    "also where the spec names no place any more",
    { stage: "new", with: { taking: attempt(backup(), "running") }, spec: { destination: {} } },
    { jobName: "nightly" },
  ],
])(
  "that its Job was made is told of a backup that is being deleted before anybody looked: %s",
  (_, given, expected) => {
    const spec = { ...given?.spec, objectPolicy: "Delete" };
    const { jobName, nothingStored, objectKey } = statusOf(backup({ ...given, spec, deleting: true, held: true }));
    expect({ jobName, ...(nothingStored === undefined ? {} : { nothingStored }) }).toEqual(expected);
    expect(objectKey === undefined).toBe(given?.spec !== undefined);
  },
);

test("nothing is told of the Job of a name that is somebody else's, nor of none", () => {
  const going = { spec: { objectPolicy: "Delete" }, deleting: true, held: true };
  expect(statusOf(backup({ ...going, stage: "new" }))).not.toHaveProperty("jobName");
});

describe("what keeps the plan from being carried out is told:", () => {
  const refused = (code?: string): Rest => ({ because: "no", forMs: 1_000, isBrief: false, ...(code && { code }) });

  test.each([
    [undefined, "False StepRefused"],
    ["KubeInvalid", "False StepRefused"],
    ["KubeAlreadyExists", "False NameTaken"],
  ])("a Job that is refused with %s", (code, told) => {
    const snapshot = backup({ stage: "new" });
    const plan = planBackup(snapshot, () => refused(code));
    expect(conditionsOf(snapshot, plan)).toEqual({ Complete: told, Failed: told });
    expect(messageOf(snapshot, "Complete", plan)).toBe("create-job: no");
  });

  const STARTED = { phase: "BackingUp", startTime: "2026-01-01T11:00:00Z" } as const;
  const afterMs = (ms: number) =>
    backup({ stage: "new", status: STARTED, with: { takenAtMs: Date.parse(STARTED.startTime) + ms } });

  test.each([
    ["KubeInvalid", "StepRefused"],
    ["KubeAlreadyExists", "NameTaken"],
  ])("a Job that is refused with %s for ten minutes has failed", (code, reason) => {
    const told = (triedForMs?: number) => {
      const snapshot = afterMs(600_000);
      const rest = { ...refused(code), ...(triedForMs === undefined ? {} : { triedForMs }) };
      return statusOf(
        snapshot,
        planBackup(snapshot, () => rest),
      );
    };
    // What else was waited for before does not count.
    expect(told().phase).toBe("BackingUp");
    expect(told(599_999).phase).toBe("BackingUp");
    expect(told(600_000)).toMatchObject({
      phase: "Failed",
      completionTime: "2026-01-01T11:10:00Z",
      conditions: [
        { type: "Complete", status: "False", reason },
        { type: "Failed", status: "True", reason, message: "create-job: no; it was waited for 10 minutes" },
      ],
    });
  });

  test("an EtcdBackup that cannot be held first", () => {
    const snapshot = backup({ stage: "new", spec: { objectPolicy: "Delete" } });
    const held = (triedForMs: number, isBrief = false) =>
      planBackup(snapshot, () => ({ ...refused(), triedForMs, isBrief }));
    expect(conditionsOf(snapshot, held(0))).toMatchObject({ Complete: "False StepRefused" });
    expect(messageOf(snapshot, "Complete", held(0))).toBe("hold-backup: no");
    expect(conditionsOf(snapshot, held(600_000))).toMatchObject({ Failed: "True StepRefused" });
    expect(conditionsOf(snapshot, held(600_000, true))).toMatchObject({ Complete: "False BackingUp" });
  });

  test("but an operator that does not know its image fails no backup", () => {
    const given = afterMs(600_000);
    expect(statusOf({ ...given, agentImage: undefined }).phase).toBe("BackingUp");
    expect(statusOf(given, { ...planBackup(given), aside: [] }).phase).toBe("BackingUp");
    const putOff = planBackup(given, () => ({ ...refused(), triedForMs: 600_000, isBrief: true }));
    expect(statusOf(given, putOff).phase).toBe("BackingUp");
  });

  test("but not what was only asked to come again", () => {
    const snapshot = backup({ stage: "new" });
    const plan = planBackup(snapshot, () => ({ ...refused(), isBrief: true }));
    expect(conditionsOf(snapshot, plan)).toMatchObject({ Complete: "False BackingUp" });
  });

  test("a Job of somebody else", () => {
    const { taking } = backup();
    const theirs = {
      ...taking!,
      job: { ...taking!.job, metadata: { ...taking!.job.metadata, ownerReferences: [] } } as Job,
    };
    expect(conditionsOf(backup({ with: { taking: theirs } }))).toMatchObject({ Complete: "False NameTaken" });
  });

  test("an operator that does not know its image", () => {
    const snapshot = backup({ stage: "new", with: { agentImage: undefined } });
    expect(conditionsOf(snapshot)).toMatchObject({ Complete: "False Waiting", Failed: "False Waiting" });
    expect(messageOf(snapshot, "Complete")).toContain("--agent-image");
  });

  test("and not what has failed anyway", () => {
    const snapshot = backup({ stage: "failed" });
    const plan: Plan<BackupStep> = { ...planBackup(snapshot), aside: [{ rule: "r", because: "b", is: "refused" }] };
    expect(conditionsOf(snapshot, plan)).toEqual({ Complete: "False NoSpace", Failed: "True NoSpace" });
  });
});

test("of a backup that no look comes to an end with nobody knows how it is, unless it has ended", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  const { conditions, ...rest } = failingStatus(backup({ status: EARLIER }).backup, "Bug: x", now);
  expect(rest).toEqual(EARLIER);
  const unknown = { type: "Complete", status: "Unknown", reason: "InternalError", message: "Bug: x" };
  const when = { observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00Z" };
  expect(conditions).toEqual([{ ...unknown, ...when }]);
  for (const phase of ["Completed", "Failed"] as const)
    expect(failingStatus(backup({ status: { phase } }).backup, "Bug: x", now)).toEqual({ phase });
  const { generation: _, ...metadata } = backup().backup.metadata;
  const young = failingStatus({ ...backup().backup, metadata }, "Bug: x", now);
  expect(young.conditions).toMatchObject([{ observedGeneration: 0 }]);
});

describe("while it is being deleted", () => {
  const status: EtcdBackupStatus = { phase: "Completed", jobName: "nightly", conditions: [] };
  const going = (given: Partial<BackupSnapshot> = {}) =>
    backup({ stage: "succeeded", spec: { objectPolicy: "Delete" }, status, deleting: true, held: true, with: given });

  test("a status that nobody will read is left as it was", () => {
    expect(statusOf(backup({ stage: "failed", status, deleting: true }))).toEqual(status);
    expect(statusOf(backup({ stage: "new", deleting: true }))).toEqual({});
  });

  test("the deletion of its object is told beside what was", () => {
    const deleting = going({ removing: removal(backup(), "running") });
    expect(statusOf(deleting)).toMatchObject({ phase: "Completed", jobName: "nightly" });
    expect(conditionsOf(deleting)).toEqual({ ObjectDeleted: "False DeletingObject" });
    expect(messageOf(deleting, "ObjectDeleted")).toBe("its object is being deleted");
  });

  test("a deletion that has failed is told with the way out", () => {
    const hindered = going({ removing: removal(backup(), "failed") });
    expect(conditionsOf(hindered)).toEqual({ ObjectDeleted: "False ObjectNotDeleted" });
    expect(messageOf(hindered, "ObjectDeleted")).toMatch(
      /^NoSpace: the bucket is full; to let the EtcdBackup go and keep s3:\S+, set its annotation etcd.improbable.io\/keep-object to "true"$/,
    );
  });

  test("so is a pod that may store something and does not end", () => {
    const gone = { deletionTimestamp: "2026-01-01T11:58:00Z" };
    const pod = agentPod(attempt(backup(), "running").job, { phase: "Running" }, { running: {} }, gone);
    const lost = going({ taking: undefined, orphans: [pod] });
    expect(conditionsOf(lost)).toEqual({ ObjectDeleted: "False ObjectNotDeleted" });
    const ending = { ...lost, takenAtMs: Date.parse("2026-01-01T11:59:59Z") };
    expect(conditionsOf(ending)).toEqual({ ObjectDeleted: "False DeletingObject" });
    expect(messageOf(lost, "ObjectDeleted")).toMatch(
      /^PodPending: pod nightly-abcde was to end .*keep-object to "true"$/,
    );
  });

  test("so is a deletion that is refused", () => {
    const plan = planBackup(going(), () => ({ because: "quota", forMs: 1_000, isBrief: false }));
    expect(conditionsOf(going(), plan)).toEqual({ ObjectDeleted: "False ObjectNotDeleted" });
    expect(messageOf(going(), "ObjectDeleted", plan)).toMatch(/^delete-object: quota; to let/);
  });

  test("and the end of a deletion that is to stop, which needs no way out", () => {
    const annotations = { [KEEP_OBJECT_ANNOTATION]: "true" };
    const given = { spec: { objectPolicy: "Delete" }, status, deleting: true, held: true, annotations };
    const keeping = backup({ ...given, stage: "succeeded", with: { removing: removal(backup(), "running") } });
    const plan = planBackup(keeping, () => ({ because: "no", forMs: 1_000, isBrief: false }));
    expect(conditionsOf(keeping, plan)).toEqual({ ObjectDeleted: "False ObjectNotDeleted" });
    expect(messageOf(keeping, "ObjectDeleted", plan)).toBe("stop-deletion: no");
  });
});
