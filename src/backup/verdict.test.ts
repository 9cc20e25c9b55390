import { describe, expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import type { Attempted, BackupSnapshot } from "#backup/snapshot.ts";
import { secretNamesOf } from "#backup/trouble.ts";
import { PATIENCE_MS, verdictOf } from "#backup/verdict.ts";
import {
  agentPod,
  attempt,
  available,
  backup,
  DONE,
  destinationClaim,
  endedPod,
  FULL,
  isAvailable,
  ON_VOLUME,
  overTls,
  STORED,
} from "#kit/etcd-backup.ts";
import type { Job, Pod } from "#kube/kinds.ts";

const { job } = attempt(backup(), "running");
const MADE_MS = Date.parse("2026-01-01T11:59:50Z");
const ENDED_MS = Date.parse("2026-01-01T11:59:57Z");

/** When the backup was looked at first. */
const SEEN = { phase: "BackingUp", startTime: "2026-01-01T11:59:30Z" } as const;
const SEEN_MS = Date.parse(SEEN.startTime);

function withPods(...pods: readonly Pod[]): BackupSnapshot {
  return backup({ with: { taking: { job, pods } } });
}

function pending(state: object, given: Partial<BackupSnapshot> = {}): BackupSnapshot {
  return { ...withPods(agentPod(job, { phase: "Pending" }, state)), ...given };
}

function failedJob(reason: string, ...pods: readonly Pod[]): Attempted {
  const condition = { type: "Failed", status: "True", reason, message: "the Job's words" };
  return { job: { ...job, status: { conditions: [condition] } } as Job, pods };
}

/** What the agent said, and what is told of it. */
function afterReport(report: ReturnType<typeof failure>, spec: object = {}) {
  return verdictOf(backup({ stage: "failed", report, spec }));
}

const unscheduled = { ...agentPod(job, {}, {}), status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "no node fits" }] } } as unknown as Pod; // biome-ignore format: a pod
const NOT_FOUND = 'MountVolume.SetUp failed for volume "credentials" : secret "s3" not found';

describe("while the Job is active, the verdict is BackingUp, because", () => {
  test.each<[string, BackupSnapshot, string, string]>([
    ["the agent is at work", backup(), "BackingUp", "a snapshot is being taken and stored"],
    ["no pod is made yet", backup({ stage: "made" }), "PodPending", "its pod is not made yet"],
    [
      "a quota refuses it",
      backup({ stage: "made", with: { warnings: ["exceeded quota: q", "older"] } }),
      "PodRefused",
      "its pod cannot be made: exceeded quota: q",
    ],
    ["there is no node", withPods(unscheduled), "PodPending", "pod cannot be scheduled: no node fits"],
    [
      "the image cannot be had",
      pending({ waiting: { reason: "ImagePullBackOff", message: "back-off" } }),
      "ImageUnavailable",
      "container agent waits: ImagePullBackOff (back-off)",
    ],
    [
      "the image is named wrongly",
      pending({ waiting: { reason: "InvalidImageName" } }),
      "ImageUnavailable",
      "InvalidImageName",
    ],
    [
      "a Secret is missing",
      pending({ waiting: { reason: "ContainerCreating" } }, { warnings: ["other", NOT_FOUND] }),
      "SecretMissing",
      `of s3: ${NOT_FOUND}`,
    ],
    [
      "a key of a Secret is missing",
      pending({ waiting: { reason: "ContainerCreating" } }, { warnings: ["references non-existent secret key: a"] }),
      "SecretMissing",
      "non-existent secret key: a",
    ],
    [
      "Kubernetes warns of something else",
      pending({ waiting: { reason: "ContainerCreating" } }, { warnings: ["no volume"] }),
      "PodPending",
      "ContainerCreating; Kubernetes warns: no volume",
    ],
    ["nothing is said of the pod", withPods(agentPod(job, { phase: "Pending" }, {})), "PodPending", "pod is Pending"],
    [
      "its pod is being deleted",
      withPods(agentPod(job, { phase: "Running" }, { running: {} }, { deletionTimestamp: "2026-01-01T12:00:00Z" })),
      "PodPending",
      "pod nightly-abcde is being deleted; another one follows",
    ],
    [
      "an attempt has failed",
      withPods(endedPod(job, 1, FULL)),
      "Retrying",
      "an attempt has failed, another one follows: NoSpace: the bucket is full",
    ],
    [
      "an attempt left no report",
      withPods(endedPod(job, 137, "Killed")),
      "Retrying",
      "container agent ended: Error with exit code 137 (Killed)",
    ],
    ["its pod has ended well", withPods(endedPod(job, 0, DONE)), "BackingUp", "its pod has ended well"],
  ])("%s", (_, given, reason, message) => {
    // biome-ignore format: a table
    const verdict = verdictOf(given);
    expect(verdict).toMatchObject({ phase: "BackingUp", reason });
    expect(verdict.message).toContain(message);
  });

  test("what Kubernetes does not warn of is not made up", () => {
    expect(verdictOf(withPods(agentPod(job, { phase: "Pending" }, {}))).message).toBe("pod is Pending");
  });

  test.each([
    ["ErrImagePull", "ImageUnavailable"],
    ["ImagePullBackOff", "ImageUnavailable"],
    ["InvalidImageName", "ImageUnavailable"],
    ["ErrImageNeverPull", "ImageUnavailable"],
    ["ImageInspectError", "ImageUnavailable"],
    ["CreateContainerError", "PodPending"],
  ])("the kubelet says %s", (waitsFor, reason) => {
    const message = `container agent waits: ${waitsFor}`;
    expect(verdictOf(pending({ waiting: { reason: waitsFor } }))).toEqual({ phase: "BackingUp", reason, message });
  });

  test("the missing Secret may be any that the pod cannot do without", () => {
    const spec = {
      source: { endpoints: ["https://a:1"], tls: { secretName: "tls" }, auth: { secretName: "root" } },
      destination: { url: { template: "s3://bb/k" } },
      encryption: { keySecret: { name: "key" } },
    };
    const given = backup({ spec, stage: "starting", with: { warnings: [NOT_FOUND] } });
    expect(verdictOf(given).message).toContain("of key, tls, root: ");
  });
});

describe("patience ends", () => {
  test.each<[string, BackupSnapshot, number]>([
    ["ten minutes after the Job was made without a pod", backup({ stage: "made" }), MADE_MS],
    ["ten minutes after a pod was made that does not start", backup({ stage: "starting" }), MADE_MS],
    ["ten minutes after the last attempt has ended", withPods(endedPod(job, 1, FULL)), ENDED_MS],
    [
      "ten minutes after its name was found taken",
      backup({
        status: SEEN,
        with: { taking: { job: { ...job, metadata: { ...job.metadata, ownerReferences: [] } } as Job, pods: [] } },
      }),
      SEEN_MS,
    ],
    [
      "ten minutes after the cluster was missed",
      backup({ stage: "new", status: SEEN, with: { cluster: undefined } }),
      SEEN_MS,
    ],
  ])("%s", (_, given, sinceMs) => {
    // biome-ignore format: a table
    expect(verdictOf({ ...given, takenAtMs: sinceMs + PATIENCE_MS - 1 }).phase).toBe("BackingUp");
    const verdict = verdictOf({ ...given, takenAtMs: sinceMs + PATIENCE_MS });
    expect(verdict).toMatchObject({
      phase: "Failed",
      message: expect.stringContaining("it was waited for 10 minutes"),
    });
  });

  test("ten minutes after a pod was to go and did not, such as with its node", () => {
    const going = { deletionTimestamp: "2026-01-01T12:00:00Z" };
    const given = withPods(agentPod(job, { phase: "Running" }, { running: {} }, going));
    const sinceMs = Date.parse(going.deletionTimestamp);
    expect(verdictOf({ ...given, takenAtMs: sinceMs + PATIENCE_MS - 1 }).phase).toBe("BackingUp");
    expect(verdictOf({ ...given, takenAtMs: sinceMs + PATIENCE_MS })).toMatchObject({
      phase: "Failed",
      reason: "PodPending",
    });
  });

  test("never while the agent runs, nor by a time that cannot be read", () => {
    expect(verdictOf({ ...backup(), takenAtMs: MADE_MS + 1_000 * PATIENCE_MS }).phase).toBe("BackingUp");
    const late = { cluster: undefined, takenAtMs: SEEN_MS + 1_000 * PATIENCE_MS };
    expect(verdictOf(backup({ stage: "new", status: { startTime: "soon" }, with: late })).phase).toBe("BackingUp");
  });

  test("nor at the first look, however late that comes", () => {
    const late = { cluster: undefined, takenAtMs: SEEN_MS + 1_000 * PATIENCE_MS };
    expect(verdictOf(backup({ stage: "new", with: late })).phase).toBe("BackingUp");
    expect(verdictOf(backup({ stage: "new", status: {}, with: late })).phase).toBe("BackingUp");
  });
});

describe("a Job that has failed makes the backup Failed, because", () => {
  test.each<[string, Attempted, string, string]>([
    ["the agent said so", failedJob("PodFailurePolicy", endedPod(job, 2, FULL)), "NoSpace", "the bucket is full"],
    [
      "it tried too often",
      failedJob("BackoffLimitExceeded", endedPod(job, 1, failure("StoreUnreachable", "no route"))),
      "StoreUnreachable",
      "no route",
    ],
    [
      "its pod left no report",
      failedJob("BackoffLimitExceeded", endedPod(job, 137, "")),
      "AgentFailed",
      "its pod left no report: container agent ended: Error with exit code 137",
    ],
    [
      "its report is of something that is no backup",
      failedJob("PodFailurePolicy", endedPod(job, 2, failure("DataExists", "there is data"))),
      "AgentFailed",
      "its pod left no report: container agent ended: Error with exit code 2",
    ],
    [
      "there is no pod left",
      failedJob("BackoffLimitExceeded"),
      "AgentFailed",
      "Job nightly: the Job's words (BackoffLimitExceeded)",
    ],
    [
      "its time was over",
      failedJob("DeadlineExceeded"),
      "DeadlineExceeded",
      "it took longer than spec.activeDeadlineSeconds, 600 s",
    ],
    [
      "its time was over after an attempt",
      failedJob("DeadlineExceeded", endedPod(job, 1, FULL)),
      "DeadlineExceeded",
      "600 s; the last attempt said NoSpace: the bucket is full",
    ],
  ])("%s", (_, taking, reason, message) => {
    // biome-ignore format: a table
    const verdict = verdictOf(backup({ spec: { activeDeadlineSeconds: 600 }, with: { taking } }));
    expect(verdict).toMatchObject({ phase: "Failed", reason });
    expect(verdict.message).toContain(message);
  });

  const SPEC = {
    source: { endpoints: ["https://a:1"], tls: { secretName: "tls" }, auth: { secretName: "root" } },
    encryption: { keySecret: { name: "key" } },
  };
  test.each([
    ["WrongCredentials", " (Secret s3)"],
    ["AccessDenied", " (Secret s3)"],
    ["StoreTLS", " (Secret s3)"],
    ["SourceTLS", " (Secret tls)"],
    ["SourceAuth", " (Secret root)"],
    ["BadKey", " (Secret key)"],
    ["NoSpace", ""],
  ] as const)("%s names the Secret that is concerned", (reason, secret) => {
    expect(afterReport(failure(reason, "no"), SPEC)).toEqual({ phase: "Failed", reason, message: `no${secret}` });
  });

  test("of an EtcdCluster with TLS it is the one that the operator itself shows there", () => {
    const given = backup({ stage: "failed", report: failure("SourceTLS", "no"), with: { cluster: overTls() } });
    expect(verdictOf(given).message).toBe("no (Secret my-etcd-operator-tls)");
    expect(secretNamesOf(given)).toEqual(["s3", "my-etcd-operator-tls"]);
  });

  test("without a Secret none is named", () => {
    expect(afterReport(failure("SourceAuth", "no")).message).toBe("no");
    expect(afterReport(failure("BadKey", "no")).message).toBe("no");
    expect(afterReport(failure("WrongCredentials", "no"), { destination: { s3: { bucket: "bb" } } }).message).toBe(
      "no",
    );
    const spec = { source: { endpoints: ["https://a:1"], tls: { serverName: "a" } } };
    expect(afterReport(failure("SourceTLS", "no"), spec).message).toBe("no");
  });
});

test("a Job that is complete makes the backup Completed, with what was stored", () => {
  const message = "the object is stored, with its manifest beside it";
  expect(verdictOf(backup({ stage: "succeeded" }))).toEqual({
    phase: "Completed",
    reason: "Completed",
    message,
    object: STORED,
  });
});

test("the report of a pod that succeeded counts, not that of an earlier one that failed", () => {
  const taking = attempt(backup(), "succeeded");
  const failed = endedPod(taking.job, 1, FULL);
  const pods = [
    { ...failed, metadata: { ...failed.metadata, creationTimestamp: "2026-01-01T12:00:00Z" } },
    ...taking.pods,
  ];
  expect(verdictOf(backup({ with: { taking: { ...taking, pods } } }))).toMatchObject({ object: STORED });
});

const LOST = "its pod's report is lost";
const JOB_ENDED_MS = Date.parse("2026-01-01T11:59:58Z");

describe("a Job that has ended before its pod is seen to", () => {
  const { job: complete, pods } = attempt(backup(), "succeeded");
  const failed = attempt(backup(), "failed").job;
  const running = attempt(backup(), "running").pods;
  const early = endedPod(job, 1, FULL);

  test.each<[string, Attempted]>([
    ["is complete, and its pod still runs", { job: complete, pods: running }],
    ["is complete, and an earlier pod is seen alone", { job: complete, pods: [early] }],
    ["is complete, and no pod is seen", { job: complete, pods: [] }],
    ["has failed, and its pod still runs", { job: failed, pods: running }],
    ["has failed, and its last pod still runs", { job: failed, pods: [early, ...running] }],
    ["has failed, and no pod is seen", { job: failed, pods: [] }],
  ])("%s: the report is waited for, and not for ever", (_, taking) => {
    const at = (ms: number) => verdictOf({ ...backup({ with: { taking } }), takenAtMs: JOB_ENDED_MS + ms });
    const message = "its Job has ended; the report of its pod is waited for";
    expect(at(59_999)).toEqual({ phase: "BackingUp", reason: "BackingUp", message });
    expect(at(60_000).phase).toBe(taking.job === complete ? "Completed" : "Failed");
    expect(at(60_000)).not.toHaveProperty("object");
  });

  test("a report that is there is not waited for", () => {
    const unreadable = [endedPod(complete, 0, "{")];
    for (const given of [pods, unreadable])
      expect(verdictOf(backup({ with: { taking: { job: complete, pods: given } } })).phase).toBe("Completed");
    expect(verdictOf(backup({ with: { taking: { job: failed, pods: [endedPod(job, 137, "")] } } })).phase).toBe(
      "Failed",
    );
  });
});

test.each([
  ["is gone", (taking: Attempted) => ({ ...taking, pods: [] })],
  ["cannot be read", (taking: Attempted) => ({ ...taking, pods: [endedPod(taking.job, 0, "{")] })],
  [
    "is of a deletion",
    (taking: Attempted) => ({
      ...taking,
      pods: [endedPod(taking.job, 0, { ok: true, kind: "delete", deleted: true })],
    }),
  ],
])("a complete Job whose report %s is complete all the same", (_, change) => {
  // biome-ignore format: a table
  const given = backup({ with: { taking: change(attempt(backup(), "succeeded")) } });
  const verdict = verdictOf({ ...given, takenAtMs: JOB_ENDED_MS + 60_000 });
  expect(verdict).toMatchObject({ phase: "Completed", message: expect.stringContaining(LOST) });
  expect(verdict).not.toHaveProperty("object");
});

test("what became of somebody else's Job of its name is nothing to the backup, which waits for the name", () => {
  const { job: their, pods } = attempt(backup(), "failed");
  const taking = { job: { ...their, metadata: { ...their.metadata, ownerReferences: [] } } as Job, pods };
  expect(verdictOf(backup({ with: { taking } }))).toMatchObject({ phase: "BackingUp", reason: "NameTaken" });
});

describe("without a Job", () => {
  test("it is about to be made", () => {
    expect(verdictOf(backup({ stage: "new" }))).toEqual({
      phase: "BackingUp",
      reason: "BackingUp",
      message: "its Job is about to be made",
    });
  });

  test.each([
    [{ source: {} }],
    [{ source: { clusterName: "my-etcd", endpoints: ["http://a:1"] } }],
    [{ destination: {} }],
    [{ destination: { url: { template: "ftp://b/k" } } }],
    [{ source: { endpoints: ["https://a:1"], tls: { secretName: "my-etcd-client-ca" } } }],
    [{ source: { endpoints: ["https://a:1"], tls: { secretName: "my-etcd-peer-ca" } } }],
  ])("what a conversion let pass is refused: %j", (spec) => {
    expect(verdictOf(backup({ stage: "new", spec }))).toMatchObject({ phase: "Failed", reason: "SpecRefused" });
  });

  test("a Job that runs on a claim that is a member's by now has failed; a label that is gone ends nothing", () => {
    const given = { stage: "starting", spec: ON_VOLUME } as const;
    expect(verdictOf(backup({ ...given, with: { namesake: available() } }))).toMatchObject({
      phase: "Failed",
      reason: "SpecRefused",
    });
    expect(verdictOf(backup({ ...given, with: { claim: destinationClaim({}) } })).phase).toBe("BackingUp");
  });

  test.each<[string, Partial<BackupSnapshot>, string]>([
    ["is not there", { cluster: undefined }, "ClusterNotFound"],
    ["has no identity", { cluster: { ...available(), status: {} } }, "ClusterNotFormed"],
    ["has no identity on record", { cluster: available({ identity: undefined }) }, "ClusterNotFormed"],
    ["has no members", { cluster: available({ members: [] }) }, "ClusterNotFormed"],
    [
      "has a learner alone",
      { cluster: available({ members: [{ name: "a", id: "1", healthy: true, leader: false, learner: true }] }) },
      "ClusterNotFormed",
    ],
    ["is forming", { cluster: available({ conditions: [isAvailable("False", "Forming")] }) }, "ClusterNotFormed"],
    ["has no quorum", { cluster: available({ conditions: [isAvailable("False", "QuorumLost")] }) }, "NoQuorum"],
    [
      "cannot be asked",
      { cluster: available({ conditions: [isAvailable("Unknown", "MembersUnreachable")] }) },
      "NoQuorum",
    ],
    ["says nothing", { cluster: available({ conditions: [] }) }, "NoQuorum"],
    [
      "is ready and not available",
      {
        cluster: available({
          conditions: [
            { ...isAvailable("True", "AllMembersHealthy"), type: "Ready" },
            isAvailable("False", "QuorumLost"),
          ],
        }),
      },
      "NoQuorum",
    ],
    ["is corrupt", { cluster: available({ conditions: [isAvailable("False", "CorruptionAlarm")] }) }, "NoQuorum"],
    [
      "the operator fails to look after, which may be well",
      { cluster: available({ conditions: [isAvailable("Unknown", "InternalError")] }) },
      "BackingUp",
    ],
    [
      "is full, which can be read",
      { cluster: available({ conditions: [isAvailable("False", "NoSpaceAlarm")] }) },
      "BackingUp",
    ],
  ])("a cluster that %s: %j", (_, given, reason) => {
    // biome-ignore format: a table
    expect(verdictOf(backup({ stage: "new", with: given }))).toMatchObject({ phase: "BackingUp", reason });
  });
});
