import { expect, test } from "vitest";
import type { ArchiveProgress, Progress } from "#agent/report.ts";
import { backupJob } from "#backup/desired/job.ts";
import { archiveTask } from "#backup/desired/task.ts";
import { planBackup } from "#backup/plan.ts";
import { backupStatus } from "#backup/status.ts";
import { targetOf } from "#backup/target.ts";
import { PATIENCE_MS, verdictOf } from "#backup/verdict.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { agentPod, backup, goodTarget, IMAGE, ON_VOLUME } from "#kit/snapshots/etcd-backup.ts";

// An EtcdBackup with spec.archive stores changes instead of a snapshot.

const ARCHIVE = { archive: { maxAge: "10s", keepFor: "2h" } };
const reported: ArchiveProgress = {
  ...{ clusterID: "a", from: "5", revision: "20", time: "2026-01-01T12:00:00.000Z" },
  ...{ gaps: 1, objects: 2, bytes: 300 },
};

function archiving(archive?: ArchiveProgress, given: Parameters<typeof backup>[0] = {}) {
  const progress = {
    ...{ phase: "Archiving", bytesRead: 0, bytesStored: 0, bytesExpected: 0, since: "" },
    ...(archive === undefined ? {} : { archive }),
  } as Progress;
  return backup({ spec: ARCHIVE, ...given, with: { progress, ...given.with } });
}

test("an archive's Job has a million retries, and its agent the members' endpoints and the client Service", () => {
  const snapshot = backup({ stage: "new", spec: { ...ARCHIVE, encryption: { keySecretRef: { name: "key" } } } });
  const { spec } = backupJob(snapshot, goodTarget(snapshot), IMAGE);
  expect(spec).toMatchObject({ backoffLimit: 1_000_000, podFailurePolicy: { rules: [{ action: "FailJob" }, {}] } });
  const env = (spec as never as { template: { spec: { containers: [{ env: [{ value: string }] }] } } }).template.spec;
  expect(JSON.parse(env.containers[0].env[0].value)).toEqual({
    kind: "archive",
    source: {
      endpoints: [
        ...[0, 1, 2].map((n) => `http://my-etcd-${n}.my-etcd.foo.svc:2379`),
        "http://my-etcd-client.foo.svc:2379",
      ],
      clusterID: expect.stringMatching(/^[0-9a-f]+$/) as string,
    },
    destination: { store: "s3", bucket: "backups", pathStyle: false },
    prefix: "foo/my-etcd/uid-of-cluster/changes",
    credentialsDir: "/run/agent/credentials",
    needsCredentials: true,
    encryption: { keyFile: "/run/agent/encryption/key" },
    maxAgeSeconds: 10,
    keepForSeconds: 7_200,
    maxBytes: 8 * 1024 ** 2,
  });
});

test("an archive's agent gets no file paths when the spec has no Secrets", () => {
  const snapshot = backup({ stage: "new", spec: { ...ARCHIVE, ...ON_VOLUME } });
  const task = archiveTask(snapshot, goodTarget(snapshot), ARCHIVE.archive as never);
  expect(task).toMatchObject({ kind: "archive", destination: { store: "volume" } });
  expect(task).not.toHaveProperty("credentialsDir");
  expect(task).not.toHaveProperty("encryption");
});

test.each([
  [
    { maxAge: "1m", keepFor: "1w1d" },
    { maxAgeSeconds: 60, keepForSeconds: 691_200 },
  ],
  [
    { maxAge: "soon", keepFor: "long" },
    { maxAgeSeconds: 10, keepForSeconds: undefined },
  ],
])("an archive with %j has the task %j", (archive, expected) => {
  const snapshot = backup({ stage: "new", spec: { ...ARCHIVE, ...ON_VOLUME } });
  const { maxAgeSeconds, keepForSeconds } = archiveTask(snapshot, goodTarget(snapshot), archive);
  expect({ maxAgeSeconds, keepForSeconds }).toEqual(expected);
});

test("an archive keeps the key of its Job, even when the cluster was recreated", () => {
  const snapshot = archiving();
  const cluster = { ...snapshot.cluster!, metadata: { ...snapshot.cluster!.metadata, uid: "another" } };
  expect(targetOf({ ...snapshot, cluster })).toMatchObject({ key: "foo/my-etcd/uid-of-cluster/changes" });
});

test.each<[string, ArchiveProgress | undefined, string]>([
  ["is BackingUp before the agent reports", undefined, "BackingUp: the archive of changes is about to begin"],
  [
    "is Archiving with the last revision while the agent reports",
    reported,
    "Archiving: changes are stored as they happen, so far up to revision 20",
  ],
  [
    "is ArchiveStalled while the store is unreachable",
    { ...reported, message: "no route" },
    "ArchiveStalled: no route",
  ],
])("the condition of an archive %s", (_, archive, expected) => {
  const { phase, reason, message } = verdictOf(archiving(archive));
  expect([phase, `${reason}: ${message}`]).toEqual(["BackingUp", expected]);
});

test("an archive's pod that cannot start is shown instead of the progress", () => {
  const snapshot = archiving(reported);
  const { job } = snapshot.taking!;
  const pods = [agentPod(job, { phase: "Pending" }, { waiting: { reason: "ErrImagePull" } })];
  expect(verdictOf({ ...snapshot, taking: { job, pods } })).toMatchObject({
    phase: "BackingUp",
    reason: "ImageUnavailable",
  });
});

test("an archive's progress stays in the status while the agent does not answer", () => {
  const of = (snapshot: ReturnType<typeof backup>) => backupStatus(snapshot, planBackup(snapshot));
  const status = of(archiving(reported));
  expect(status).toMatchObject({ phase: "BackingUp", archive: reported });
  expect(status).not.toHaveProperty("progress");
  expect(of(archiving())).not.toHaveProperty("archive");
  const silent = archiving(undefined, { status, with: { progress: undefined } });
  expect(of(silent)).toMatchObject({ archive: reported, conditions: status.conditions });
});

test("an archive waits for its cluster without limit, and a snapshot does not", () => {
  const status = { phase: "BackingUp", startTime: "2026-01-01T11:00:00Z" } as const;
  const late = { cluster: undefined, takenAtMs: NOW + 2 * PATIENCE_MS };
  const snapshot = backup({ stage: "new", spec: ARCHIVE, status, with: late });
  expect(verdictOf(snapshot)).toMatchObject({ phase: "BackingUp", reason: "ClusterNotFound" });
  expect(verdictOf(backup({ stage: "new", status, with: late }))).toMatchObject({ phase: "Failed" });
});
