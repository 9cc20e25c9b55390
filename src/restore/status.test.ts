import { describe, expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import type { EtcdRestoreStatus } from "#api/v1beta1/restore.ts";
import { kstatusOf } from "#kit/kstatus.ts";
import {
  BY_URL,
  claimAt,
  clusterOf,
  ended,
  etcdRestore,
  FINISHED,
  failed,
  foreignClaim,
  jobOf,
  MADE_AT,
  ON_VOLUME,
  restore,
  restorePod,
  sourceBackup,
  UID,
  withMember,
} from "#kit/snapshots/etcd-restore.ts";
import type { Job } from "#kube/kinds.ts";
import { planRestore } from "#restore/plan.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import { failingStatus, restoreStatus } from "#restore/status.ts";
import type { Rest } from "#runtime/decide.ts";

const NOW = "2026-01-01T12:00:00Z";
const CLUSTER_ID = restoreStatus(restore(), planRestore(restore())).clusterID;
const running = restore();
const job = jobOf(running, running.members[1]!);

function statusOf(snapshot: RestoreSnapshot, resting?: Parameters<typeof planRestore>[1]): EtcdRestoreStatus {
  return restoreStatus(snapshot, planRestore(snapshot, resting));
}

/** Phase, status of Complete and Failed, and the common reason and message of all conditions. */
function verdictText(snapshot: RestoreSnapshot, resting?: Parameters<typeof planRestore>[1]): string {
  const { phase, conditions = [] } = statusOf(snapshot, resting);
  const [complete, ill, ready] = conditions;
  const isStalled = ill?.status === "True";
  expect(conditions.map(({ type }) => type)).toEqual([
    "Complete",
    "Failed",
    "Ready",
    ...(isStalled ? ["Stalled"] : []),
  ]);
  expect(ready?.status).toBe(complete?.status);
  for (const { reason, message } of conditions)
    expect([reason, message]).toEqual([complete?.reason, complete?.message]);
  return `${phase} ${complete?.status} ${ill?.status} ${complete?.reason}: ${complete?.message}`;
}

/** The second claim could not be filled. */
function failing(states: readonly object[], reason?: string): RestoreSnapshot {
  return withMember(running, 1, { filling: failed(job, states, reason) });
}

test("a running restore's status has its progress, object URL, Jobs and future cluster ID", () => {
  expect(statusOf(running)).toEqual({
    observedGeneration: 1,
    phase: "Pending",
    source: "nightly",
    objectURL: "s3://backups/foo/my-etcd/u/nightly.db?s3ForcePathStyle=false",
    clusterName: "restored",
    clusterID: CLUSTER_ID,
    jobNames: [0, 1, 2].map((n) => `restore-${UID}-${n}`),
    startTime: NOW,
    conditions: ["Complete", "Failed", "Ready"].map((type) => ({
      ...{ type, status: "False", reason: "Restoring", message: "0 of 3 claims are filled" },
      ...{ observedGeneration: 1, lastTransitionTime: NOW },
    })),
  });
  expect(CLUSTER_ID).toMatch(/^[0-9a-f]{10,16}$/);
});

test("the status shows the snapshot and revision that the agents report", () => {
  const status = statusOf(restore({ stage: "filled" }));
  expect(status).toMatchObject({
    revision: "1000000012",
    snapshot: {
      ...{ key: "k.db", bytes: 1_000, sha256: "ab", revision: "12" },
      ...{ etcdVersion: "3.6.16", clusterID: "cd", hasManifest: true },
    },
  });
  expect(Object.keys(status.snapshot ?? {})).toHaveLength(7);
  // Less is known of an object stored by another tool.
  const bare = { key: "k", bytes: 1, sha256: "a", revision: "2", hasManifest: false };
  const brought = ended(0, { ok: true, kind: "fetch", snapshot: bare });
  const pod = restorePod(job, "Succeeded", [brought, ended(0), ended(0)]);
  const plain = withMember(restore({ stage: "made" }), 1, { filling: { job, pods: [pod] } });
  expect(statusOf(plain).snapshot).toStrictEqual(bare);
  expect(statusOf(plain)).not.toHaveProperty("revision");
});

test("the revision is taken from the first valid report, else from the recorded status", () => {
  const word = (revision: string) =>
    restorePod(job, "Succeeded", [ended(0), ended(0), ended(0, { ...FINISHED, revision })]);
  const odd = withMember(restore({ stage: "made" }), 0, { filling: { job, pods: [word("x")] } });
  expect(statusOf(odd)).not.toHaveProperty("revision");
  expect(statusOf(withMember(odd, 1, { filling: { job, pods: [word("7")] } })).revision).toBe("7");
  expect(statusOf(restore({ stage: "filled", status: { revision: "7" } })).revision).toBe("7");
});

test("a condition keeps its transition time while its status is unchanged", () => {
  const before = {
    observedGeneration: 1,
    lastTransitionTime: MADE_AT,
    reason: "Waiting",
    message: "m",
    status: "False" as const,
  };
  const conditions = ["Complete", "Failed", "Other", "Ready"].map((type) => ({ ...before, type }));
  const times = (status: EtcdRestoreStatus) =>
    status.conditions?.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`);
  expect(times(statusOf(restore({ status: { conditions } })))).toEqual(
    conditions.map(({ type }) => `${type} ${MADE_AT}`),
  );
  const failing = failingStatus(etcdRestore({ status: { conditions } }), "a defect", Date.parse(NOW));
  expect(times(failing)).toEqual([`Complete ${NOW}`, `Failed ${MADE_AT}`, `Other ${MADE_AT}`, `Ready ${NOW}`]);
  const { generation: _, ...metadata } = running.restore.metadata;
  expect(statusOf({ ...running, restore: { ...running.restore, metadata } }).observedGeneration).toBe(0);
});

test("a restore completes by the cluster's Ready condition, whatever its other conditions are", () => {
  const ready = restore({ stage: "ready" });
  const { status } = ready.cluster!;
  const other = { ...status!.conditions![0]!, type: "Available", status: "False" as const };
  const cluster = { ...ready.cluster!, status: { ...status, conditions: [other, ...status!.conditions!] } };
  expect(verdictText({ ...ready, cluster })).toContain("Completed True");
});

test("the agent's reason and message are shown, and a spec without a source is refused", () => {
  expect(verdictText(failing([ended(2, failure("NoSuchObject", "nothing is there"))]))).toBe(
    "Failed False True NoSuchObject: nothing is there",
  );
  expect(verdictText({ ...failing([ended(2, failure("BadKey", "no"))]) })).toBe("Failed False True BadKey: no");
  expect(verdictText(restore({ stage: "new", spec: { source: {} } }))).toBe(
    "Failed False True SpecRefused: spec.source must have exactly one of backupName and object",
  );
});

test("a failed pod does not fail a Job while another pod of it runs", () => {
  const { job: its, pods } = failed(job);
  const both = [...pods, restorePod(its, "Pending", [{ running: {} }], { uid: "other" })];
  expect(verdictText(withMember(running, 1, { filling: { job: its, pods: both } }))).toContain("Pending False False");
});

test("the revision and snapshot stay in the status after their pods are gone", () => {
  const before = { revision: "7", snapshot: { key: "k", bytes: 1, sha256: "a", revision: "2", hasManifest: false } };
  const status = statusOf(restore({ stage: "new", held: true, status: { ...before, startTime: MADE_AT } }));
  expect(status).toMatchObject({ ...before, startTime: MADE_AT });
  expect(status).not.toHaveProperty("jobNames");
});

test("the status shows the source as the user wrote it", () => {
  expect(statusOf(restore({ spec: BY_URL }))).toMatchObject({
    source: "s3://bucket/k.db?region=eu-1",
    objectURL: "s3://bucket/k.db?region=eu-1",
  });
  expect(statusOf(restore({ spec: ON_VOLUME }))).toMatchObject({ source: "volume://backups/nightly/k.db" });
  const nowhere = restore({ stage: "new", spec: { source: { object: { url: { url: "x" } } } } });
  expect(statusOf(nowhere)).toMatchObject({ source: "", phase: "Failed" });
  expect(statusOf(nowhere)).not.toHaveProperty("objectURL");
});

describe("conditions show", () => {
  const cases: readonly [string, RestoreSnapshot, string][] = [
    [
      "completion when the cluster is Ready at the restored revision",
      restore({ stage: "ready" }),
      "Completed True False Completed: EtcdCluster restored is Ready, at revision 1000000012",
    ],
    [
      "the creation of the cluster when all claims are filled",
      restore({ stage: "told" }),
      "Pending False False StartingCluster: all claims are filled; EtcdCluster restored is created next",
    ],
    [
      "a wrong encryption key, with the name of the Secret",
      { ...failing([ended(2, failure("BadKey", "no"))]), restore: etcdRestore({ spec: ON_VOLUME }) },
      "Failed False True BadKey: no (Secret key)",
    ],
    [
      "wrong credentials, with the name of the Secret",
      failing([ended(2, failure("WrongCredentials", "no"))]),
      "Failed False True WrongCredentials: no (Secret s3)",
    ],
    [
      "a refusal by the object store, with the name of the Secret",
      failing([ended(2, failure("AccessDenied", "no"))]),
      "Failed False True AccessDenied: no (Secret s3)",
    ],
    [
      "a store certificate that is not trusted, with the name of the Secret",
      failing([ended(2, failure("StoreTLS", "no"))]),
      "Failed False True StoreTLS: no (Secret s3)",
    ],
    [
      "a wrong key for a source without an encryption Secret, without a Secret's name",
      failing([ended(2, failure("BadKey", "no"))]),
      "Failed False True BadKey: no",
    ],
    [
      "a missing object",
      failing([ended(2, failure("NoSuchObject", "nothing is there"))]),
      "Failed False True NoSuchObject: nothing is there",
    ],
    [
      "that auth is enabled in the snapshot",
      failing([ended(2, failure("AuthEnabled", "users"))]),
      "Failed False True AuthEnabled: users",
    ],
    [
      "a data directory that exists already",
      failing([ended(0), ended(0), ended(2, failure("DataExists", "data"))]),
      "Failed False True DataExists: data",
    ],
    [
      "Internal for a reason that restores do not have",
      failing([ended(2, failure("ObjectExists", "odd"))]),
      "Failed False True Internal: odd",
    ],
    [
      "the exit code of etcdutl when it has no output",
      failing([ended(0), ended(137)]),
      "Failed False True RestoreToolFailed: etcdutl ended with exit code 137 (Error)",
    ],
    [
      "a failed pod without a report",
      failing([ended(0), ended(0), ended(1, "killed")]),
      `Failed False True AgentFailed: Job ${job.metadata.name} left no report: container finish ended: Error with exit code 1 (killed)`,
    ],
    [
      "a failed Job without a pod",
      { ...failing([], "BackoffLimitExceeded"), takenAtMs: running.takenAtMs + 60_000 },
      `Failed False True AgentFailed: Job ${job.metadata.name} left no report: m (BackoffLimitExceeded)`,
    ],
    [
      "a pod that is being deleted, and that a new pod follows",
      withMember(running, 1, {
        filling: { job, pods: [restorePod(job, "Pending", [{ running: {} }], { deletionTimestamp: NOW })] },
      }),
      `Pending False False PodPending: pod ${job.metadata.name}-abcde is being deleted; a new pod follows when it is gone`,
    ],
    [
      "an image that cannot be pulled",
      withMember(running, 1, {
        filling: { job, pods: [restorePod(job, "Pending", [ended(0), { waiting: { reason: "ErrImagePull" } }])] },
      }),
      "Pending False False ImageUnavailable",
    ],
    [
      "a Secret that does not exist",
      restore({ stage: "starting", spec: ON_VOLUME, with: { warnings: ['secret "key" not found'] } }),
      `Pending False False SecretMissing: pod restore-${UID}-0-abcde waits for a Secret, or a key in one, among key: secret "key" not found`,
    ],
    [
      "a volume that does not exist",
      restore({ stage: "starting", with: { warnings: ["no volume"] } }),
      `Pending False False PodPending: pod restore-${UID}-0-abcde: container finish waits: PodInitializing; Kubernetes warns: no volume`,
    ],
    [
      "a pod that has succeeded while its Job has not",
      withMember(running, 1, { filling: { job, pods: [restorePod(job, "Succeeded", [])] } }),
      `Pending False False Restoring: the pod of Job ${job.metadata.name} has succeeded`,
    ],
    [
      "a retry of an attempt without a report",
      withMember(running, 1, { filling: { job, pods: [restorePod(job, "Failed", [ended(137)])] } }),
      `Pending False False Retrying: an attempt of Job ${job.metadata.name} has failed and is retried: container fetch ended: Error with exit code 137`,
    ],
    [
      "the Jobs that are deleted when the EtcdRestore is deleted",
      restore({ deleting: true }),
      "Pending False False Deleting: the restore was given up; Job",
    ],
    [
      "that an EtcdRestore without Jobs and claims is about to be deleted",
      restore({ stage: "new", deleting: true }),
      "Pending False False Deleting: the EtcdRestore is about to be deleted",
    ],
    [
      "that the operator does not know its image",
      restore({ stage: "new", with: { agentImage: undefined } }),
      "Pending False False Waiting: the operator does not know its own image",
    ],
  ];
  test.each(cases)("%s", (_, snapshot, wanted) => expect(verdictText(snapshot)).toContain(wanted)); // biome-ignore format: a table
});

test("a Job that failed before its pod was observed waits a minute for the pod's report", () => {
  const { job: its } = failed(job);
  const at = (ms: number) => ({
    ...withMember(running, 1, { filling: { job: its, pods: [] } }),
    takenAtMs: Date.parse("2026-01-01T11:59:58Z") + ms,
  });
  expect(verdictText(at(59_999))).toContain("Pending False False");
  expect(verdictText(at(60_000))).toContain("Failed False True AgentFailed");
});

const rest = (given: Partial<Rest> = {}) => ({ because: "quota", forMs: 1_000, isBrief: false, ...given });

test("a refused step is shown, and fails the restore after ten minutes while claims are incomplete", () => {
  const refuse =
    (given: Partial<Rest> = {}) =>
    () =>
      rest(given);
  const fresh = restore({ stage: "new", held: true, status: { startTime: NOW } });
  expect(verdictText(fresh, refuse())).toContain("Pending False False StepRefused: create-claim: quota");
  expect(verdictText(fresh, refuse({ code: "KubeAlreadyExists" }))).toContain("NameTaken: create-claim: quota");
  // Earlier waits do not count.
  const later = { ...fresh, takenAtMs: fresh.takenAtMs + 10 * 60_000 };
  expect(verdictText(later, refuse())).toContain("Pending False False StepRefused: create-claim: quota");
  expect(verdictText(later, refuse({ triedForMs: 599_999 }))).toContain("Pending False False StepRefused");
  expect(verdictText(fresh, refuse({ triedForMs: 600_000 }))).toBe(
    "Failed False True StepRefused: create-claim: quota; it was waited for 10 minutes",
  );
  const whole = { ...restore({ stage: "told", status: { startTime: NOW } }), takenAtMs: later.takenAtMs };
  expect(verdictText(whole, refuse({ triedForMs: 600_000 }))).toContain(
    "Pending False False StepRefused: create-cluster: quota",
  );
  expect(verdictText(fresh, refuse({ because: "soon", isBrief: true }))).not.toContain("soon");
});

test("a refused step that blocks all others is shown", () => {
  const held =
    (name: string, given: Partial<Rest> = {}) =>
    (rule: string) =>
      rule === name ? rest(given) : undefined;
  const fresh = restore({ stage: "new" });
  expect(verdictText(fresh, held("hold-restore"))).toContain("Pending False False StepRefused: hold-restore: quota");
  expect(verdictText(fresh, held("hold-restore", { triedForMs: 600_000 }))).toContain("Failed False True StepRefused");
  expect(verdictText(fresh, held("hold-restore", { isBrief: true }))).toContain("Pending False False Restoring");
  const filled = restore({ stage: "filled" });
  expect(verdictText(filled, held("identify-claims"))).toContain(
    "Pending False False StepRefused: identify-claims: quota",
  );
  const begun = withMember(filled, 0, { claim: claimAt(filled, "restored-0", true) });
  expect(verdictText(begun, held("identify-claims", { triedForMs: 600_000 }))).toContain(
    "Pending False False StepRefused: identify-claims",
  );
  // A failed restore stays failed, even with a refused step.
  const lost = withMember(begun, 1, { claim: undefined });
  expect(verdictText(lost, held("identify-claims"))).toContain("Failed False True ClaimLost");
  expect(verdictText(restore({ deleting: true }), held("stop-jobs"))).toBe(
    "Pending False False Deleting: stop-jobs: quota",
  );
});

test("status.begun stays true once all claims were filled, also after a failure or lost annotations", () => {
  expect(statusOf(restore({ stage: "filled" }))).not.toHaveProperty("begun");
  expect(statusOf(restore({ stage: "told" })).begun).toBe(true);
  const wordless = restore({ stage: "claims", with: { cluster: clusterOf(running, true) } });
  expect(statusOf(wordless)).toMatchObject({ phase: "Failed", begun: true });
  expect(statusOf(restore({ stage: "claims", status: { begun: true } })).begun).toBe(true);
  const failed = { phase: "Failed", completionTime: MADE_AT } as const;
  expect(statusOf(restore({ stage: "told", status: failed }))).toEqual({ ...failed, begun: true });
  expect(statusOf(restore({ stage: "claims", status: failed }))).toEqual(failed);
});

test("the status of an ended restore does not change, and a completion time is set once", () => {
  const done = { phase: "Completed", completionTime: MADE_AT } as const;
  const snapshot = restore({ stage: "new", status: done });
  expect(statusOf(snapshot)).toBe(snapshot.restore.status);
  expect(statusOf(restore({ stage: "ready" })).completionTime).toBe(NOW);
  expect(statusOf(running)).not.toHaveProperty("completionTime");
});

test("the start time is not set while the EtcdBackup is running", () => {
  const waiting = restore({ stage: "new", with: { backup: sourceBackup({ phase: "BackingUp" }) } });
  expect(statusOf(waiting)).not.toHaveProperty("startTime");
  expect(verdictText(waiting)).toBe("Pending False False BackupNotCompleted: EtcdBackup nightly is still running");
});

test("an existing foreign claim fails the restore, and is waited for while it is being deleted", () => {
  const claim = foreignClaim("restored-0");
  const going = { ...claim, metadata: { ...claim.metadata, deletionTimestamp: NOW } };
  expect(verdictText(withMember(restore({ stage: "new" }), 0, { claim }))).toContain("Failed False True ClaimExists");
  expect(verdictText(withMember(restore({ stage: "new" }), 0, { claim: going }))).toContain(
    "Pending False False ClaimExists",
  );
  const theirs = {
    ...job,
    metadata: { ...job.metadata, ownerReferences: [{ kind: "EtcdBackup", name: "b", uid: "u", controller: true }] },
  } as unknown as Job;
  expect(verdictText(withMember(running, 1, { filling: { job: theirs, pods: [] } }))).toContain("NameTaken: Job");
});

test.each<[string, RestoreSnapshot, string]>([
  ["in progress", running, "InProgress"],
  ["failed", failing([ended(2, failure("NoSuchObject", "none"))]), "Failed"],
  ["complete", restore({ stage: "ready" }), "Current"],
])("kstatus sees a restore that is %s as such", (_, snapshot, expected) =>
  expect(kstatusOf({ ...snapshot.restore, status: statusOf(snapshot) })).toBe(expected)); // biome-ignore format: a table

test("an observation's error makes Complete and Ready Unknown, unless the restore has ended", () => {
  const status = failingStatus(etcdRestore({ status: { phase: "Pending" } }), "a defect", Date.parse(NOW));
  expect(status).toMatchObject({
    phase: "Pending",
    conditions: [
      { type: "Complete", status: "Unknown", reason: "InternalError", message: "a defect", observedGeneration: 1 },
      { type: "Ready", status: "Unknown", reason: "InternalError", message: "a defect", observedGeneration: 1 },
    ],
  });
  for (const phase of ["Completed", "Failed"] as const)
    expect(failingStatus(etcdRestore({ status: { phase } }), "a defect", 0)).toEqual({ phase });
  const { generation: _, ...metadata } = etcdRestore().metadata;
  expect(failingStatus({ ...etcdRestore(), metadata }, "a defect", 0).conditions).toMatchObject([
    { observedGeneration: 0 },
    { observedGeneration: 0 },
  ]);
});
