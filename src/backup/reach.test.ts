import { expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import { backupJob } from "#backup/desired/job.ts";
import { planBackup } from "#backup/plan.ts";
import { otherReach, reachOf } from "#backup/reach.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { verdictOf } from "#backup/verdict.ts";
import { agentPod, available, backup, goodTarget, IMAGE, isAvailable } from "#kit/snapshots/etcd-backup.ts";
import { planText } from "#kit/tables/plan-text.ts";
import type { Job } from "#kube/kinds.ts";

// A cluster switches to or from TLS, or to another provider, while a Job of a backup runs.

const secret = { serverSecretName: "theirs", operatorClientSecretName: "mine" };
const BROUGHT = { provider: "Secret", secret };
const OPERATOR = { provider: "Operator" };
const NONE = { provider: "None" };
const SINCE = "2026-01-01T11:00:00Z";

interface Served {
  readonly scheme?: "http" | "https";
  readonly both?: boolean;
  readonly issuedBy?: object;
  readonly status?: Partial<NonNullable<EtcdCluster["status"]>>;
}

/** @param client provider in the spec @param served scheme that members serve now */
function asking(client: object, { scheme, both = false, issuedBy, status }: Served = {}): EtcdCluster {
  const since = both ? { bothServedSince: SINCE } : {};
  const cluster = available({
    ...(scheme === undefined ? {} : { tls: { client: { scheme, ...since } } }),
    ...(issuedBy === undefined ? {} : { issuedBy: { client: issuedBy } as never }),
    ...status,
  });
  return { ...cluster, spec: { ...cluster.spec, tls: clusterTlsSchema.parse({ client }) } };
}

const PLAIN = asking(NONE, { scheme: "http" });
const TO_TLS = asking(OPERATOR, { scheme: "http" });
const BOTH_TO_TLS = asking(OPERATOR, { scheme: "https", both: true });
const TLS = asking(OPERATOR, { scheme: "https", issuedBy: OPERATOR });
const FROM_TLS = asking(NONE, { scheme: "https", issuedBy: OPERATOR });
const BOTH_FROM_TLS = asking(NONE, { scheme: "https", both: true, issuedBy: OPERATOR });

test.each<[string, EtcdCluster, object]>([
  ["without TLS", PLAIN, { scheme: "http" }],
  ["without a recorded scheme", asking(OPERATOR), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["before a switch to TLS", TO_TLS, { scheme: "http" }],
  ["that serves both, on the way to TLS", BOTH_TO_TLS, { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["that serves both before all pods show TLS", asking(OPERATOR, { scheme: "http", both: true }), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["with TLS", TLS, { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["with a user's certificates", asking(BROUGHT, { scheme: "https", issuedBy: BROUGHT }), { scheme: "https", secretName: "mine" }],
  ["on the way to a user's certificates", asking(BROUGHT, { scheme: "https", issuedBy: OPERATOR }), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["before a switch to plain HTTP", FROM_TLS, { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["before a switch to plain HTTP from a user's certificates", asking(NONE, { scheme: "https", issuedBy: BROUGHT }), { scheme: "https", secretName: "mine" }],
  ["before a switch to plain HTTP, without a recorded issuer", asking(NONE, { scheme: "https" }), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["that serves both, on the way to plain HTTP", BOTH_FROM_TLS, { scheme: "http" }],
  ["without the name of the Secret", asking({ provider: "Secret" }, { scheme: "https" }), { scheme: "https" }],
])("how a cluster %s is reached", (_, cluster, reach) => expect(reachOf(cluster)).toStrictEqual(reach)); // biome-ignore format: a table

/** The Job was created for a cluster that is reached differently now. */
function made(before: EtcdCluster, now: EtcdCluster, given: Parameters<typeof backup>[0] = {}): BackupSnapshot {
  return { ...backup({ ...given, with: { cluster: before } }), cluster: now };
}

const ARCHIVE = { spec: { archive: {} } };
const text = (snapshot: BackupSnapshot) =>
  planText(planBackup(snapshot), (step) => `${step.do} ${"job" in step ? step.job.metadata.name : ""}`);
const RENEWED = "renew-job: deleteJob nightly";
const LEFT = "wait: await-job";
const BY_PEOPLE = asking(BROUGHT, { scheme: "https", issuedBy: BROUGHT });

function of(snapshot: BackupSnapshot, metadata: object): BackupSnapshot {
  const { job, pods } = snapshot.taking!;
  return { ...snapshot, taking: { pods, job: { ...job, metadata: { ...job.metadata, ...metadata } } as Job } };
}

/** Its pod has this state; undefined: there is no pod. */
function idle(snapshot: BackupSnapshot, state?: object): BackupSnapshot {
  const { job } = snapshot.taking!;
  return {
    ...snapshot,
    taking: { job, pods: state === undefined ? [] : [agentPod(job, { phase: "Pending" }, state)] },
  };
}

/** Its pod has succeeded, and the Job is not complete yet. */
function done(snapshot: BackupSnapshot): BackupSnapshot {
  const { job } = snapshot.taking!;
  return { ...snapshot, taking: { job, pods: [agentPod(job, { phase: "Succeeded" }, {})] } };
}

const NO_QUORUM = { conditions: [isAvailable("False", "QuorumLost")] };
const failed = (reason: Parameters<typeof failure>[0]) => ({ stage: "failed" as const, report: failure(reason, "no") });

test.each<[string, BackupSnapshot, string]>([
  ["an archive is left alone before its cluster switches to TLS", made(PLAIN, TO_TLS, ARCHIVE), LEFT],
  ["an archive switches to TLS while both are served", made(PLAIN, BOTH_TO_TLS, ARCHIVE), RENEWED],
  ["an archive switches to TLS when only TLS is served", made(PLAIN, TLS, ARCHIVE), RENEWED],
  ["an archive with TLS is left alone", made(BOTH_TO_TLS, BOTH_TO_TLS, ARCHIVE), LEFT],
  ["an archive with TLS is left alone when only TLS is served", made(BOTH_TO_TLS, TLS, ARCHIVE), LEFT],
  ["an archive with TLS is left alone before its cluster switches back", made(TLS, FROM_TLS, ARCHIVE), LEFT],
  ["an archive switches back while both are served", made(TLS, BOTH_FROM_TLS, ARCHIVE), RENEWED],
  ["an archive switches back when only plain HTTP is served", made(TLS, PLAIN, ARCHIVE), RENEWED],
  ["an archive that switched back is left alone while members stop serving TLS one at a time", made(BOTH_FROM_TLS, FROM_TLS, ARCHIVE), LEFT],
  ["an archive switches to another Secret", made(TLS, BY_PEOPLE, ARCHIVE), RENEWED],
  ["an archive is left alone while the operator still uses the former Secret", made(TLS, asking(BROUGHT, { scheme: "https", issuedBy: OPERATOR }), ARCHIVE), LEFT],
  ["an archive is left alone while its cluster has no quorum", made(PLAIN, asking(OPERATOR, { scheme: "https", status: NO_QUORUM }), ARCHIVE), LEFT],
  ["a failed archive is replaced even without a quorum", made(TLS, asking(NONE, { scheme: "http", status: NO_QUORUM }), { ...ARCHIVE, ...failed("SourceTLS") }), RENEWED],
  ["an archive's Job is deleted once", of(made(PLAIN, TLS, ARCHIVE), { deletionTimestamp: SINCE }), LEFT],
  ["a running snapshot is left alone", made(PLAIN, TLS), LEFT],
  ["a snapshot is taken over TLS after a failed attempt", idle(made(PLAIN, TLS)), RENEWED],
  ["a snapshot is left alone when its pod has succeeded", done(made(PLAIN, TLS)), LEFT],
  ["a snapshot is taken with the new Secret when its pod waits for the former one", idle(made(TLS, BY_PEOPLE), { waiting: { reason: "ContainerCreating" } }), RENEWED],
  ["a snapshot that failed over TLS is taken over plain HTTP", made(TLS, PLAIN, failed("SourceTLS")), RENEWED],
  ["a snapshot that became unreachable is taken over TLS", made(PLAIN, TLS, failed("SourceUnreachable")), RENEWED],
  ["a snapshot is taken with the new Secret when its user was refused", made(TLS, BY_PEOPLE, failed("SourceAuth")), RENEWED],
  ["a snapshot that failed for another reason has failed", made(TLS, PLAIN, failed("NoSpace")), "warn: backup-failed"],
  ["a snapshot that failed with the present scheme has failed", made(TLS, TLS, failed("SourceTLS")), "warn: backup-failed"],
  ["a stored snapshot stays completed", made(PLAIN, TLS, { stage: "succeeded" }), "wait: backup-completed"],
  ["an archive that succeeded is completed", made(PLAIN, TLS, { ...ARCHIVE, stage: "succeeded" }), "wait: backup-completed"],
])("%s", (_, snapshot, expected) => expect(text(snapshot)).toBe(expected)); // biome-ignore format: a table

test("the reason for replacing the Job is shown", () => {
  const plan = planBackup(made(PLAIN, TLS, ARCHIVE));
  expect(plan).toMatchObject({
    because:
      "Job nightly is replaced: EtcdCluster my-etcd is now reached over TLS with Secret my-etcd-operator-tls instead of over plain HTTP",
  });
  const unnamed = asking({ provider: "Secret" }, { scheme: "https" });
  expect(otherReach(made(unnamed, TLS))).toMatch(/instead of over TLS without a Secret$/);
  expect(otherReach(made(TLS, PLAIN))).toBe("EtcdCluster my-etcd is now reached over plain HTTP instead of over TLS with Secret my-etcd-operator-tls"); // biome-ignore format: one line
});

test("a failure for that reason does not fail the backup, and is shown", () => {
  expect(verdictOf(made(TLS, PLAIN, failed("SourceTLS")))).toEqual({
    phase: "BackingUp",
    reason: "Retrying",
    message: "an attempt has failed and a new Job follows: SourceTLS: no",
  });
});

test("a foreign Job, one without endpoints, and one of another etcd are left alone", () => {
  const stale = made(PLAIN, TLS, ARCHIVE);
  expect(otherReach(stale)).toBeDefined();
  expect(otherReach(of(stale, { ownerReferences: [] }))).toBeUndefined();
  expect(otherReach({ ...stale, taking: undefined })).toBeUndefined();
  expect(otherReach({ ...stale, cluster: undefined })).toBeUndefined();
  const identity = { ...TLS.status!.identity!, clusterID: "another" };
  expect(
    otherReach({ ...stale, cluster: { ...TLS, status: { ...TLS.status, identity } } as EtcdCluster }),
  ).toBeUndefined();
  const { job, pods } = stale.taking!;
  expect(
    otherReach({ ...stale, taking: { pods, job: { ...job, spec: undefined } as unknown as Job } }),
  ).toBeUndefined();
  const withSource = (source: object | undefined) => {
    const spec = structuredClone(job.spec) as never as {
      template: { spec: { containers: { env: { value: string }[] }[] } };
    };
    const [variable] = spec.template.spec.containers[0]!.env;
    variable!.value = JSON.stringify({ ...(JSON.parse(variable!.value) as object), source });
    return { ...stale, taking: { pods, job: { ...job, spec } as never as Job } };
  };
  expect(otherReach(withSource({ endpoints: [], clusterID: TLS.status!.identity!.clusterID }))).toBeUndefined();
  expect(otherReach(withSource(undefined))).toBeUndefined();
});

test("the new Job uses TLS with the Secret; over plain HTTP it mounts none", () => {
  const jobFor = (cluster: EtcdCluster) => {
    const snapshot = backup({ stage: "new", ...ARCHIVE, with: { cluster } });
    return JSON.stringify(backupJob(snapshot, goodTarget(snapshot), IMAGE));
  };
  expect(jobFor(BOTH_TO_TLS)).toMatch(/https:\/\/my-etcd-0.*my-etcd-operator-tls/);
  expect(jobFor(FROM_TLS)).toMatch(/https:\/\/my-etcd-0.*my-etcd-operator-tls/);
  for (const cluster of [TO_TLS, BOTH_FROM_TLS]) expect(jobFor(cluster)).not.toMatch(/https|-tls/);
});
