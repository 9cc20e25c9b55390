import { describe, expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import { attempted } from "#agent-job/job-state.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { etcdImageOf, nextAttemptMs, verificationAfterRefusal, verificationOf } from "#backup/verification.ts";
import {
  available,
  backup,
  destinationClaim,
  endedPod,
  ON_VOLUME,
  SAME,
  verification,
  verified,
} from "#kit/snapshots/etcd-backup.ts";
import type { Job, Pod } from "#kube/kinds.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const given = verified();
const CORRUPT = failure("SnapshotCorrupt", "a byte has changed");
const DIFFERENT = failure("VerificationFailed", "6 of 7 keys are there");

function during(
  ...args: Parameters<typeof verification> extends [unknown, ...infer Rest] ? Rest : never
): BackupSnapshot {
  return { ...given, verifying: verification(given, ...args) };
}

function later(snapshot: BackupSnapshot, ms: number): BackupSnapshot {
  return { ...snapshot, takenAtMs: snapshot.takenAtMs + ms };
}

function ofForeignJob(): BackupSnapshot {
  const { job, pods } = verification(given, "running");
  return { ...given, verifying: { pods, job: { ...job, metadata: { ...job.metadata, ownerReferences: [] } } as Job } };
}

/** Milliseconds since the request. */
function since(ms: number, of: BackupSnapshot): BackupSnapshot {
  const startTime = new Date(of.takenAtMs - ms).toISOString();
  return { ...of, backup: { ...of.backup, status: { ...of.backup.status, verification: { startTime } } } };
}

/** A pod in which etcd has ended for this reason, and runs again. */
function withEndedEtcd(reason: string, exitCode: number): BackupSnapshot {
  const {
    job,
    pods: [pod],
  } = verification(given, "running");
  const etcd = { name: "etcd", state: { running: {} }, lastState: { terminated: { exitCode, reason } } };
  const initContainerStatuses = [...(pod?.status?.initContainerStatuses ?? []), etcd];
  const ended = { ...pod, status: { ...pod?.status, initContainerStatuses } } as Pod;
  return { ...given, verifying: attempted(job, [ended])! };
}

const onVolume = verified({ spec: ON_VOLUME });
const ofUnknownRelease = verified({ status: { object: undefined } as never });

test.each<[string, BackupSnapshot, string, string | RegExp]>([
  ["is Unknown before the verification Job exists", given, "Unknown Verifying", "its Job is created next"],
  ["is Unknown while the pod runs", during("running"), "Unknown Verifying", "the object is fetched and restored to a throw-away etcd"],
  ["is Unknown when etcd is killed for its memory and started again", withEndedEtcd("OOMKilled", 137), "Unknown Verifying", /^the restored etcd in pod \S+ ended with exit code 137 \(OOMKilled\), and the kubelet restarts it; set more memory in spec.podTemplate.spec.etcdResources of the next backup$/],
  ["is Unknown when etcd crashes and is started again", withEndedEtcd("Error", 2), "Unknown Verifying", /with exit code 2 \(Error\), and the kubelet restarts it$/],
  ["is Unknown while the pod is created", during("made"), "Unknown PodPending", "the pod of Job verify-0123456789-uid-of-backup is not created yet"],
  ["is Unknown while the pod starts", during("starting"), "Unknown PodPending", /container verify waits: ContainerCreating/],
  ["is True when the restored data equals the object", during("succeeded"), "True Verified", "7 keys"],
  ["is True when the Job has succeeded and its report is lost", during("succeeded", { verify: [0, ""] }), "True Verified", /the data is right; its pod's report/],
  ["is True when the Job has succeeded and its report is of another task", during("succeeded", { verify: [0, { ok: true, kind: "delete", deleted: true }] }), "True Verified", /is lost/],
  ["is Unknown for a minute when the Job has ended before its pod is observed", { ...given, verifying: { ...verification(given, "succeeded"), pods: [] } }, "Unknown Verifying", "its Job has ended; the report of its pod is awaited"],
  ["is False when the object is corrupt", during("failed", { fetch: [2, CORRUPT] }), "False SnapshotCorrupt", "a byte has changed"],
  ["is False when the restored data differs", during("failed", { verify: [2, DIFFERENT] }), "False VerificationFailed", "6 of 7 keys are there"],
  ["is False when etcdutl rejects the checksum, with its output", during("failed", { etcdutl: [1, "Error: expected sha256 [1], got [2]\n"] }), "False RestoreToolFailed", "Error: expected sha256 [1], got [2]"],
  ["is False when etcdutl finds no checksum", during("failed", { etcdutl: [1, "Error: snapshot missing hash but --skip-hash-check=false"] }), "False RestoreToolFailed", /missing hash/],
  ["is Unknown when the container runtime cannot start etcdutl, with a path that has sha256", during("failed", { etcdutl: [128, "open /blobs/sha256/ab: expected sha256 file"] }), "Unknown AgentFailed", /exit code 128/],
  ["is Unknown when etcdutl is killed", during("failed", { etcdutl: [137, ""] }), "Unknown AgentFailed", "etcdutl ended with exit code 137 (Error); the next attempt is at 2026-01-01T12:09:58Z"],
  ["is Unknown when etcdutl lacks room", during("failed", { etcdutl: [1, "Error: no space left on device\n"] }), "Unknown AgentFailed", /exit code 1 \(Error\): Error: no space left on device; the next attempt is at/],
  ["is Unknown when the agent ends without a report", during("failed", { verify: [1, "killed"] }), "Unknown AgentFailed", /its pod left no report: container verify ended.*; the next attempt/],
  ["is Unknown when the store did not answer", during("failed", { fetch: [1, failure("StoreUnreachable", "no answer")] }), "Unknown StoreUnreachable", /no answer; the next attempt/],
  ["is Unknown when the store rejects the credentials", during("failed", { fetch: [2, failure("WrongCredentials", "expired")] }), "Unknown WrongCredentials", /expired; the next attempt/],
  ["is False when the object is gone", during("failed", { fetch: [2, failure("NoSuchObject", "no object")] }), "False NoSuchObject", "no object"],
  ["is Unknown without the agent's reason when the reason is not of a verification", during("failed", { verify: [2, failure("DataExists", "no")] }), "Unknown AgentFailed", /left no report/],
  ["is Unknown without the agent's reason when the reason is of a replay", during("failed", { verify: [2, failure("ArchiveCorrupt", "no")] }), "Unknown AgentFailed", /left no report/],
  ["is Unknown when the pod of a failed Job is gone for a minute", later({ ...given, verifying: { ...verification(given, "failed"), pods: [] } }, MINUTE), "Unknown AgentFailed", /its pod left no report: Job verify-\S+: m \(PodFailurePolicy\)/],
  ["is Unknown for a day while a verification cannot run, at last without a next attempt", since(DAY - 1, during("failed", { etcdutl: [137, ""] })), "Unknown AgentFailed", /Error\)$/],
  ["is Unknown without a next attempt when that would be a day after the request", since(DAY / 2 + 2_000, during("failed", { etcdutl: [137, ""] })), "Unknown AgentFailed", /Error\)$/],
  ["is False after a day in which no verification could run", since(DAY, during("failed", { etcdutl: [137, ""] })), "False AgentFailed", "etcdutl ended with exit code 137 (Error); the object could not be verified for 24 hours"],
  ["is Unknown without a pod for a Job that is younger than a day", since(2 * DAY, during("made")), "Unknown PodPending", "the pod of Job verify-0123456789-uid-of-backup is not created yet"],
  ["is False after a day without a pod", later(since(DAY, during("made")), DAY), "False PodPending", /not created yet; the object could not be verified for 24 hours/],
  ["is Unknown when a foreign Job has the name", ofForeignJob(), "Unknown NameTaken", /^Job verify-\S+ has another owner$/],
  ["is False when a foreign Job has the name for a day", since(DAY, ofForeignJob()), "False NameTaken", /for 24 hours/],
  ["is Unknown when the destination claim is not labelled", onVolume, "Unknown ClaimNotAllowed", /claimName is backups/],
  ["is Unknown when the destination claim is not labelled for almost a day", since(DAY - 1, onVolume), "Unknown ClaimNotAllowed", /claimName/],
  ["is False when the destination claim is not labelled for a day", since(DAY, onVolume), "False ClaimNotAllowed", /for 24 hours/],
  ["is Unknown until the Job is created when the destination claim is labelled", { ...onVolume, claim: destinationClaim() }, "Unknown Verifying", "its Job is created next"],
  ["is False when the etcd release of the object is unknown", ofUnknownRelease, "False AgentFailed", /the etcd release of the backup is unknown/],
  ["is Unknown when the operator does not know its image", { ...given, agentImage: undefined }, "Unknown Waiting", /--agent-image/],
  ["is False when the destination is no longer valid", verified({ stage: "new", spec: { destination: {} } }), "False SpecRefused", /spec.destination is empty/],
])("condition Verified %s", (_, of, verdict, message) => {
  const seen = verificationOf(of);
  expect(`${seen?.status} ${seen?.reason}`).toBe(verdict);
  if (typeof message === "string") expect(seen?.message).toBe(message);
  else expect(seen?.message).toMatch(message);
}); // biome-ignore format: a table

test.each(["fetch", "etcdutl", "verify"])("a pod in which container %s runs is not overdue", (name) => {
  const { job, pods } = verification(given, "starting");
  const each = (status: { name: string }) => (status.name === name ? { ...status, state: { running: {} } } : status);
  const [pod] = pods;
  const status = {
    ...pod?.status,
    initContainerStatuses: pod?.status?.initContainerStatuses?.map(each),
    containerStatuses: pod?.status?.containerStatuses?.map(each),
  };
  const at = { ...given, verifying: { job, pods: [{ ...pod, status } as Pod] } };
  expect(verificationOf(later(at, 20 * MINUTE))).toMatchObject({ status: "Unknown", reason: "Verifying" });
});

test("the result has the compared revision and number of keys", () => {
  expect(verificationOf(during("succeeded"))).toMatchObject({ revision: "12", keys: 7 });
  expect(SAME).toMatchObject({ revision: "12", keys: 7 });
});

test("the reason of a failed attempt is shown while the Job retries", () => {
  const { job } = verification(given, "made");
  const [pod] = verification(given, "failed", { fetch: [1, failure("StoreUnreachable", "no answer")] }).pods;
  expect(verificationOf({ ...given, verifying: { job, pods: [pod!] } })).toMatchObject({
    status: "Unknown",
    reason: "Retrying",
    message: "an attempt of Job verify-0123456789-uid-of-backup has failed and is retried: StoreUnreachable: no answer",
  });
  expect(verificationOf({ ...given, verifying: { job, pods: [endedPod(job, 0, SAME)] } })).toMatchObject({
    reason: "Verifying",
  });
});

test("a backup without spec.verification, or with a final result, has no verification", () => {
  const isVerified = { type: "Verified", reason: "Verified", message: "", lastTransitionTime: "2026-01-01T12:00:00Z" };
  const over = (status: "True" | "False" | "Unknown") =>
    verified({ status: { conditions: [{ ...isVerified, status, observedGeneration: 1 }] } });
  expect(verificationOf(backup())).toBeUndefined();
  expect(verificationOf(verified({ spec: { verification: { mode: "None" } } }))).toBeUndefined();
  expect(verificationOf(verified({ status: { phase: "Failed" } }))).toBeUndefined();
  expect(verificationOf(verified({ status: { phase: "BackingUp" } }))).toBeUndefined();
  expect([verificationOf(over("True")), verificationOf(over("False"))]).toEqual([undefined, undefined]);
  expect(verificationOf(over("Unknown"))).toMatchObject({ reason: "Verifying" });
});

test("a Job that the API server refuses is awaited for a day", () => {
  const lack = { reason: "StepRefused", message: "quota" } as const;
  expect(verificationAfterRefusal(since(DAY - 1, given), lack)).toEqual({ status: "Unknown", ...lack });
  expect(verificationAfterRefusal(since(DAY, given), lack)).toMatchObject({ status: "False", reason: "StepRefused" });
});

describe("a verification that proved nothing", () => {
  const killed = during("failed", { etcdutl: [137, ""] });
  const failedMs = Date.parse("2026-01-01T11:59:58Z");
  const requested = (ms: number) => since(killed.takenAtMs - failedMs + ms, killed);

  test("is repeated after ten minutes at first, and then after as long as it was tried", () => {
    expect(nextAttemptMs(requested(0))).toBe(failedMs + 10 * MINUTE);
    expect(nextAttemptMs(requested(10 * MINUTE))).toBe(failedMs + 10 * MINUTE);
    expect(nextAttemptMs(requested(60 * MINUTE))).toBe(failedMs + 60 * MINUTE);
  });

  test("is not repeated while its Job runs, by a foreign Job, after its end, or after a proven defect", () => {
    const foreign = ofForeignJob().verifying!;
    const { verifying } = killed;
    const timeless = { ...verifying!.job, status: { conditions: [{ type: "Failed", status: "True" }] } } as Job;
    const all = [
      given,
      during("running"),
      during("succeeded"),
      during("failed", { fetch: [2, CORRUPT] }),
      { ...killed, verifying: { ...verifying!, job: { ...verifying!.job, metadata: foreign.job.metadata } } },
      { ...killed, verifying: { ...verifying!, job: timeless } },
      { ...killed, verifying: { ...verifying!, pods: [] } },
      { ...killed, backup: { ...killed.backup, spec: backup().backup.spec } },
    ];
    expect(all.map(nextAttemptMs)).toEqual(all.map(() => undefined));
  });
});

test("the verification's etcd is of the object's release, from the cluster's image repository", () => {
  expect(etcdImageOf(given)).toBe("registry.example/etcd:v3.6.16");
  const mirrored = available();
  const spec = { ...mirrored.spec, image: { repository: "mirror.example/etcd" } } as typeof mirrored.spec;
  expect(etcdImageOf({ ...given, cluster: { ...mirrored, spec } })).toBe("mirror.example/etcd:v3.6.16");
  expect(etcdImageOf({ ...given, cluster: undefined })).toBe("registry.example/etcd:v3.6.16");
  expect(etcdImageOf(ofUnknownRelease)).toBeUndefined();
});

test("the verification's etcd is the cluster's image by digest while it has the object's release", () => {
  const cluster = available();
  const digest = `sha256:${"0".repeat(64)}`;
  const of = (version: string, backup = given.backup) => {
    const spec = { ...cluster.spec, version, image: { digest } } as typeof cluster.spec;
    return etcdImageOf({ ...given, backup, cluster: { ...cluster, spec } });
  };
  expect(of("3.6.16")).toBe(`registry.example/etcd@${digest}`);
  expect(of("3.6.17")).toBe("registry.example/etcd:v3.6.16");
  const podTemplate = { spec: { serviceAccountName: "backup" } };
  const withIdentity = { ...given.backup, spec: { ...given.backup.spec, podTemplate } };
  expect(of("3.6.16", withIdentity)).toBe("registry.example/etcd:v3.6.16");
});
