import { describe, expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import type { Attempted } from "#agent-job/job-state.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
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
} from "#kit/snapshots/etcd-backup.ts";
import type { Job, Pod } from "#kube/kinds.ts";

const { job } = attempt(backup(), "running");
const MADE_MS = Date.parse("2026-01-01T11:59:50Z");
const ENDED_MS = Date.parse("2026-01-01T11:59:57Z");

/** First observation of the backup. */
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

/** Report of the agent, and the expected message. */
function afterReport(report: ReturnType<typeof failure>, spec: object = {}) {
  return verdictOf(backup({ stage: "failed", report, spec }));
}

const unscheduled = { ...agentPod(job, {}, {}), status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "no node fits" }] } } as unknown as Pod; // biome-ignore format: a pod
const NOT_FOUND = 'MountVolume.SetUp failed for volume "credentials" : secret "s3" not found';

describe("the verdict of an active Job is BackingUp", () => {
  test.each<[string, BackupSnapshot, string, string]>([
    ["while the agent runs", backup(), "BackingUp", "a snapshot is being taken and stored"],
    ["while no pod exists yet", backup({ stage: "made" }), "PodPending", "the pod of Job nightly is not created yet"],
    [
      "with the quota that prevents its pod",
      backup({ stage: "made", with: { warnings: ["exceeded quota: q", "older"] } }),
      "PodRefused",
      "the pod of Job nightly cannot be created: exceeded quota: q",
    ],
    [
      "with the scheduler's message when no node fits",
      withPods(unscheduled),
      "PodPending",
      "pod cannot be scheduled: no node fits",
    ],
    [
      "with the kubelet's reason when the image cannot be pulled",
      pending({ waiting: { reason: "ImagePullBackOff", message: "back-off" } }),
      "ImageUnavailable",
      "container agent waits: ImagePullBackOff (back-off)",
    ],
    [
      "with the kubelet's reason when the image name is invalid",
      pending({ waiting: { reason: "InvalidImageName" } }),
      "ImageUnavailable",
      "InvalidImageName",
    ],
    [
      "when a Secret is missing",
      pending({ waiting: { reason: "ContainerCreating" } }, { warnings: ["other", NOT_FOUND] }),
      "SecretMissing",
      `among s3: ${NOT_FOUND}`,
    ],
    [
      "when a key of a Secret is missing",
      pending({ waiting: { reason: "ContainerCreating" } }, { warnings: ["references non-existent secret key: a"] }),
      "SecretMissing",
      "non-existent secret key: a",
    ],
    [
      "with any other warning of Kubernetes",
      pending({ waiting: { reason: "ContainerCreating" } }, { warnings: ["no volume"] }),
      "PodPending",
      "ContainerCreating; Kubernetes warns: no volume",
    ],
    [
      "when the pod has no container status",
      withPods(agentPod(job, { phase: "Pending" }, {})),
      "PodPending",
      "pod is Pending",
    ],
    [
      "while its pod is being deleted",
      withPods(agentPod(job, { phase: "Running" }, { running: {} }, { deletionTimestamp: "2026-01-01T12:00:00Z" })),
      "PodPending",
      "pod nightly-abcde is being deleted; a new pod follows",
    ],
    [
      "with the agent's reason after a failed attempt",
      withPods(endedPod(job, 1, FULL)),
      "Retrying",
      "an attempt of Job nightly has failed and is retried: NoSpace: the bucket is full",
    ],
    [
      "with the exit code after an attempt without a report",
      withPods(endedPod(job, 137, "Killed")),
      "Retrying",
      "container agent ended: Error with exit code 137 (Killed)",
    ],
    [
      "when its pod has succeeded",
      withPods(endedPod(job, 0, DONE)),
      "BackingUp",
      "the pod of Job nightly has succeeded",
    ],
  ])("%s", (_, given, reason, message) => {
    // biome-ignore format: a table
    const verdict = verdictOf(given);
    expect(verdict).toMatchObject({ phase: "BackingUp", reason });
    expect(verdict.message).toContain(message);
  });

  test("without a warning when Kubernetes has none", () => {
    expect(verdictOf(withPods(agentPod(job, { phase: "Pending" }, {}))).message).toBe(
      "pod nightly-abcde: pod is Pending",
    );
  });

  test.each([
    ["ErrImagePull", "ImageUnavailable"],
    ["ImagePullBackOff", "ImageUnavailable"],
    ["InvalidImageName", "ImageUnavailable"],
    ["ErrImageNeverPull", "ImageUnavailable"],
    ["ImageInspectError", "ImageUnavailable"],
    ["CreateContainerError", "PodPending"],
  ])("with reason for the kubelet's %s: %s", (waitsFor, reason) => {
    const message = `pod nightly-abcde: container agent waits: ${waitsFor}`;
    expect(verdictOf(pending({ waiting: { reason: waitsFor } }))).toEqual({ phase: "BackingUp", reason, message });
  });

  test("with all required Secrets when one of them is missing", () => {
    const spec = {
      source: { external: { endpoints: ["https://a:1"], tls: { secretName: "tls" }, auth: { secretName: "root" } } },
      destination: { url: { template: "s3://bb/k" } },
      encryption: { keySecretRef: { name: "key" } },
    };
    const given = backup({ spec, stage: "starting", with: { warnings: [NOT_FOUND] } });
    expect(verdictOf(given).message).toContain("among key, tls, root: ");
  });
});

describe("a backup fails", () => {
  test.each<[string, BackupSnapshot, number]>([
    ["ten minutes after its Job was created without a pod", backup({ stage: "made" }), MADE_MS],
    ["ten minutes after its pod was created and has not started", backup({ stage: "starting" }), MADE_MS],
    ["ten minutes after its last attempt has ended", withPods(endedPod(job, 1, FULL)), ENDED_MS],
    [
      "ten minutes after its Job's name was found taken",
      backup({
        status: SEEN,
        with: { taking: { job: { ...job, metadata: { ...job.metadata, ownerReferences: [] } } as Job, pods: [] } },
      }),
      SEEN_MS,
    ],
    [
      "ten minutes after its cluster was found missing",
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

  test("ten minutes after its pod should have been deleted, for example on a lost node", () => {
    const going = { deletionTimestamp: "2026-01-01T12:00:00Z" };
    const given = withPods(agentPod(job, { phase: "Running" }, { running: {} }, going));
    const sinceMs = Date.parse(going.deletionTimestamp);
    expect(verdictOf({ ...given, takenAtMs: sinceMs + PATIENCE_MS - 1 }).phase).toBe("BackingUp");
    expect(verdictOf({ ...given, takenAtMs: sinceMs + PATIENCE_MS })).toMatchObject({
      phase: "Failed",
      reason: "PodPending",
    });
  });

  test("never while the agent runs, nor when its recorded start time is invalid", () => {
    expect(verdictOf({ ...backup(), takenAtMs: MADE_MS + 1_000 * PATIENCE_MS }).phase).toBe("BackingUp");
    const late = { cluster: undefined, takenAtMs: SEEN_MS + 1_000 * PATIENCE_MS };
    expect(verdictOf(backup({ stage: "new", status: { startTime: "soon" }, with: late })).phase).toBe("BackingUp");
  });

  test("never at its first observation", () => {
    const late = { cluster: undefined, takenAtMs: SEEN_MS + 1_000 * PATIENCE_MS };
    expect(verdictOf(backup({ stage: "new", with: late })).phase).toBe("BackingUp");
    expect(verdictOf(backup({ stage: "new", status: {}, with: late })).phase).toBe("BackingUp");
  });
});

describe("the message of a failed Job's backup:", () => {
  test.each<[string, Attempted, string, string]>([
    ["the agent's report", failedJob("PodFailurePolicy", endedPod(job, 2, FULL)), "NoSpace", "the bucket is full"],
    [
      "the last report when the Job was retried too often",
      failedJob("BackoffLimitExceeded", endedPod(job, 1, failure("StoreUnreachable", "no route"))),
      "StoreUnreachable",
      "no route",
    ],
    [
      "the exit code of a pod without a report",
      failedJob("BackoffLimitExceeded", endedPod(job, 137, "")),
      "AgentFailed",
      "its pod left no report: container agent ended: Error with exit code 137",
    ],
    [
      "the exit code of a pod with a report that is not of a backup",
      failedJob("PodFailurePolicy", endedPod(job, 2, failure("DataExists", "there is data"))),
      "AgentFailed",
      "its pod left no report: container agent ended: Error with exit code 2",
    ],
    [
      "the Job's condition when no pod is left",
      failedJob("BackoffLimitExceeded"),
      "AgentFailed",
      "Job nightly: the Job's words (BackoffLimitExceeded)",
    ],
    [
      "the exceeded deadline",
      failedJob("DeadlineExceeded"),
      "DeadlineExceeded",
      "it took longer than spec.activeDeadlineSeconds, 600 s",
    ],
    [
      "the exceeded deadline and the report of the last attempt",
      failedJob("DeadlineExceeded", endedPod(job, 1, FULL)),
      "DeadlineExceeded",
      "600 s; the last attempt reported NoSpace: the bucket is full",
    ],
  ])("%s", (_, taking, reason, message) => {
    // biome-ignore format: a table
    const verdict = verdictOf(backup({ spec: { activeDeadlineSeconds: 600 }, with: { taking } }));
    expect(verdict).toMatchObject({ phase: "Failed", reason });
    expect(verdict.message).toContain(message);
  });

  const SPEC = {
    source: { external: { endpoints: ["https://a:1"], tls: { secretName: "tls" }, auth: { secretName: "root" } } },
    encryption: { keySecretRef: { name: "key" } },
  };
  test.each([
    ["WrongCredentials", " (Secret s3)"],
    ["AccessDenied", " (Secret s3)"],
    ["StoreTLS", " (Secret s3)"],
    ["SourceTLS", " (Secret tls)"],
    ["SourceAuth", " (Secret root)"],
    ["BadKey", " (Secret key)"],
    ["NoSpace", ""],
  ] as const)("failure %s is shown with the name of the Secret:%s", (reason, secret) => {
    expect(afterReport(failure(reason, "no"), SPEC)).toEqual({ phase: "Failed", reason, message: `no${secret}` });
  });

  test("failure SourceTLS of an EtcdCluster is shown with the operator's client Secret", () => {
    const given = backup({ stage: "failed", report: failure("SourceTLS", "no"), with: { cluster: overTls() } });
    expect(verdictOf(given).message).toBe("no (Secret my-etcd-operator-tls)");
    expect(secretNamesOf(given)).toEqual(["s3", "my-etcd-operator-tls"]);
  });

  test("a failure is shown without a Secret's name when the spec has no Secret", () => {
    expect(afterReport(failure("SourceAuth", "no")).message).toBe("no");
    expect(afterReport(failure("BadKey", "no")).message).toBe("no");
    expect(afterReport(failure("WrongCredentials", "no"), { destination: { s3: { bucket: "bb" } } }).message).toBe(
      "no",
    );
    const spec = { source: { external: { endpoints: ["https://a:1"], tls: { serverName: "a" } } } };
    expect(afterReport(failure("SourceTLS", "no"), spec).message).toBe("no");
  });
});

test("a complete Job makes the backup Completed, with the object of its report", () => {
  const message = "the object and its manifest are stored";
  expect(verdictOf(backup({ stage: "succeeded" }))).toEqual({
    phase: "Completed",
    reason: "Completed",
    message,
    object: STORED,
  });
});

test("the report of the successful pod counts, not that of an earlier failed pod", () => {
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

describe("a Job that ended before its pod was observed", () => {
  const { job: complete, pods } = attempt(backup(), "succeeded");
  const failed = attempt(backup(), "failed").job;
  const running = attempt(backup(), "running").pods;
  const early = endedPod(job, 1, FULL);

  test.each<[string, Attempted]>([
    ["has succeeded, and its pod still runs", { job: complete, pods: running }],
    ["has succeeded, and only an earlier pod is observed", { job: complete, pods: [early] }],
    ["has succeeded, and no pod is observed", { job: complete, pods: [] }],
    ["has failed, and its pod still runs", { job: failed, pods: running }],
    ["has failed, and its last pod still runs", { job: failed, pods: [early, ...running] }],
    ["has failed, and no pod is observed", { job: failed, pods: [] }],
  ])("%s: the backup waits a minute for the report", (_, taking) => {
    const at = (ms: number) => verdictOf({ ...backup({ with: { taking } }), takenAtMs: JOB_ENDED_MS + ms });
    const message = "its Job has ended; the report of its pod is awaited";
    expect(at(59_999)).toEqual({ phase: "BackingUp", reason: "BackingUp", message });
    expect(at(60_000).phase).toBe(taking.job === complete ? "Completed" : "Failed");
    expect(at(60_000)).not.toHaveProperty("object");
  });

  test("a present report ends the wait, even when it cannot be parsed", () => {
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
])("a succeeded Job makes the backup Completed even if its report %s", (_, change) => {
  // biome-ignore format: a table
  const given = backup({ with: { taking: change(attempt(backup(), "succeeded")) } });
  const verdict = verdictOf({ ...given, takenAtMs: JOB_ENDED_MS + 60_000 });
  expect(verdict).toMatchObject({ phase: "Completed", message: expect.stringContaining(LOST) });
  expect(verdict).not.toHaveProperty("object");
});

test("a foreign Job of the same name is not the backup's, and the backup waits for the name", () => {
  const { job: their, pods } = attempt(backup(), "failed");
  const taking = { job: { ...their, metadata: { ...their.metadata, ownerReferences: [] } } as Job, pods };
  expect(verdictOf(backup({ with: { taking } }))).toMatchObject({ phase: "BackingUp", reason: "NameTaken" });
});

describe("before the Job exists", () => {
  test("the message states that the Job is created next", () => {
    expect(verdictOf(backup({ stage: "new" }))).toEqual({
      phase: "BackingUp",
      reason: "BackingUp",
      message: "its Job is created next",
    });
  });

  test.each([
    [{ source: {} }],
    [{ source: { cluster: { name: "my-etcd" }, external: { endpoints: ["http://a:1"] } } }],
    [{ destination: {} }],
    [{ destination: { url: { template: "ftp://b/k" } } }],
    [{ source: { external: { endpoints: ["https://a:1"], tls: { secretName: "my-etcd-client-ca" } } } }],
    [{ source: { external: { endpoints: ["https://a:1"], tls: { secretName: "my-etcd-peer-ca" } } } }],
  ])("the invalid spec %j is refused", (spec) => {
    expect(verdictOf(backup({ stage: "new", spec }))).toMatchObject({ phase: "Failed", reason: "SpecRefused" });
  });

  test("a Job fails when its claim became a member's, and continues when its claim has lost the label", () => {
    const given = { stage: "starting", spec: ON_VOLUME } as const;
    expect(verdictOf(backup({ ...given, with: { namesake: available() } }))).toMatchObject({
      phase: "Failed",
      reason: "SpecRefused",
    });
    expect(verdictOf(backup({ ...given, with: { claim: destinationClaim({}) } })).phase).toBe("BackingUp");
  });

  test.each<[string, Partial<BackupSnapshot>, string]>([
    ["does not exist", { cluster: undefined }, "ClusterNotFound"],
    ["has no identity", { cluster: { ...available(), status: {} } }, "ClusterNotFormed"],
    ["has no recorded identity", { cluster: available({ identity: undefined }) }, "ClusterNotFormed"],
    ["has no members", { cluster: available({ members: [] }) }, "ClusterNotFormed"],
    [
      "has only a learner",
      { cluster: available({ members: [{ name: "a", id: "1", role: "Learner", health: "Healthy" }] }) },
      "ClusterNotFormed",
    ],
    ["is forming", { cluster: available({ conditions: [isAvailable("False", "Forming")] }) }, "ClusterNotFormed"],
    ["has no quorum", { cluster: available({ conditions: [isAvailable("False", "QuorumLost")] }) }, "NoQuorum"],
    [
      "does not answer",
      { cluster: available({ conditions: [isAvailable("Unknown", "MembersUnreachable")] }) },
      "NoQuorum",
    ],
    ["has no conditions", { cluster: available({ conditions: [] }) }, "NoQuorum"],
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
      "cannot be observed by the operator, but may be healthy",
      { cluster: available({ conditions: [isAvailable("Unknown", "InternalError")] }) },
      "BackingUp",
    ],
    [
      "is full and can still be read",
      { cluster: available({ conditions: [isAvailable("False", "NoSpaceAlarm")] }) },
      "BackingUp",
    ],
  ])("the reason shows that the cluster %s", (_, given, reason) => {
    // biome-ignore format: a table
    expect(verdictOf(backup({ stage: "new", with: given }))).toMatchObject({ phase: "BackingUp", reason });
  });
});
