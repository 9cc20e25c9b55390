import { expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { etcdImageOf, verificationAfterRefusal, verificationOf } from "#backup/verification.ts";
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

const onVolume = verified({ spec: ON_VOLUME });
const ofUnknownRelease = verified({ status: { object: undefined } as never });

test.each<[string, BackupSnapshot, string, string | RegExp]>([
  ["is Unknown before the verification Job exists", given, "Unknown Verifying", "its Job is created next"],
  ["is Unknown while the pod runs", during("running"), "Unknown Verifying", "the object is fetched and restored to a throw-away etcd"],
  ["is Unknown while the pod is created", during("made"), "Unknown PodPending", "the pod of Job verify-0123456789-uid-of-backup is not created yet"],
  ["is Unknown while the pod starts", during("starting"), "Unknown PodPending", /container verify waits: ContainerCreating/],
  ["is True when the restored data equals the object", during("succeeded"), "True Verified", "7 keys"],
  ["is True when the Job has succeeded and its report is lost", during("succeeded", { verify: [0, ""] }), "True Verified", /the data is right; its pod's report/],
  ["is True when the Job has succeeded and its report is of another task", during("succeeded", { verify: [0, { ok: true, kind: "delete", deleted: true }] }), "True Verified", /is lost/],
  ["is Unknown for a minute when the Job has ended before its pod is observed", { ...given, verifying: { ...verification(given, "succeeded"), pods: [] } }, "Unknown Verifying", "its Job has ended; the report of its pod is awaited"],
  ["is False when the object is corrupt", during("failed", { fetch: [2, CORRUPT] }), "False SnapshotCorrupt", "a byte has changed"],
  ["is False when the restored data differs", during("failed", { verify: [2, DIFFERENT] }), "False VerificationFailed", "6 of 7 keys are there"],
  ["is False when etcdutl fails, with its output", during("failed", { etcdutl: [1, " no snapshot \n"] }), "False RestoreToolFailed", "no snapshot"],
  ["is False when etcdutl fails without output, with its exit code", during("failed", { etcdutl: [137, ""] }), "False RestoreToolFailed", "etcdutl ended with code 137 (Error)"],
  ["is False when the agent ends without a report", during("failed", { verify: [1, "killed"] }), "False AgentFailed", /its pod left no report: container verify ended/],
  ["is False without the agent's reason when the reason is not of a verification", during("failed", { verify: [2, failure("DataExists", "no")] }), "False AgentFailed", /left no report/],
  ["is False without the agent's reason when the reason is of a replay", during("failed", { verify: [2, failure("ArchiveCorrupt", "no")] }), "False AgentFailed", /left no report/],
  ["is False when the pod of a failed Job is gone for a minute", later({ ...given, verifying: { ...verification(given, "failed"), pods: [] } }, MINUTE), "False AgentFailed", /its pod left no report: Job verify-\S+: m \(PodFailurePolicy\)/],
  ["is False after ten minutes without a pod", later(during("made"), 10 * MINUTE), "False PodPending", "the pod of Job verify-0123456789-uid-of-backup is not created yet; it was waited for 10 minutes"],
  ["is Unknown when a foreign Job has the name", ofForeignJob(), "Unknown NameTaken", /^Job verify-\S+ has another owner$/],
  ["is False when a foreign Job has the name for ten minutes", since(10 * MINUTE, ofForeignJob()), "False NameTaken", /waited for 10 minutes/],
  ["is Unknown when the destination claim is not labelled", onVolume, "Unknown ClaimNotAllowed", /claimName is backups/],
  ["is Unknown when the destination claim is not labelled for almost ten minutes", since(10 * MINUTE - 1, onVolume), "Unknown ClaimNotAllowed", /claimName/],
  ["is False when the destination claim is not labelled for ten minutes", since(10 * MINUTE, onVolume), "False ClaimNotAllowed", /waited for 10 minutes/],
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

test("a refused Job creation fails the verification after ten minutes", () => {
  const lack = { reason: "StepRefused", message: "quota" } as const;
  // Earlier waits do not count.
  const late = since(100 * MINUTE, given);
  expect(verificationAfterRefusal(late, lack, 10 * MINUTE - 1)).toEqual({ status: "Unknown", ...lack });
  expect(verificationAfterRefusal(late, lack, 10 * MINUTE)).toMatchObject({ status: "False", reason: "StepRefused" });
});

test("the verification's etcd is of the object's release, from the cluster's image repository", () => {
  expect(etcdImageOf(given)).toBe("registry.example/etcd:v3.6.16");
  const mirrored = available();
  const spec = { ...mirrored.spec, image: { repository: "mirror.example/etcd" } } as typeof mirrored.spec;
  expect(etcdImageOf({ ...given, cluster: { ...mirrored, spec } })).toBe("mirror.example/etcd:v3.6.16");
  expect(etcdImageOf({ ...given, cluster: undefined })).toBe("registry.example/etcd:v3.6.16");
  expect(etcdImageOf(ofUnknownRelease)).toBeUndefined();
});
