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

const secret = { server: { name: "theirs" }, operator: { name: "mine" } };
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
    tls: { client: { ...(scheme && { scheme }), ...since, ...(issuedBy && { issuedBy: issuedBy as never }) } },
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
  ["without TLS is reached over plain HTTP", PLAIN, { scheme: "http" }],
  ["without a recorded scheme is reached by its spec", asking(OPERATOR), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["before a switch to TLS is reached over plain HTTP", TO_TLS, { scheme: "http" }],
  ["that serves HTTP and HTTPS on the way to TLS is reached over TLS", BOTH_TO_TLS, { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["that serves HTTP and HTTPS, and records HTTP, is reached over TLS", asking(OPERATOR, { scheme: "http", both: true }), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["with TLS is reached with the operator's client Secret", TLS, { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["with a user's certificates is reached with the user's Secret", asking(BROUGHT, { scheme: "https", issuedBy: BROUGHT }), { scheme: "https", secretName: "mine" }],
  ["that switches to a user's certificates is reached with the operator's client Secret", asking(BROUGHT, { scheme: "https", issuedBy: OPERATOR }), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["before a switch to plain HTTP is reached over TLS", FROM_TLS, { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["before a switch from a user's certificates to plain HTTP is reached with the user's Secret", asking(NONE, { scheme: "https", issuedBy: BROUGHT }), { scheme: "https", secretName: "mine" }],
  ["before a switch to plain HTTP, without a recorded issuer, is reached with the operator's Secret", asking(NONE, { scheme: "https" }), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["that serves HTTP and HTTPS on the way to plain HTTP is reached over plain HTTP", BOTH_FROM_TLS, { scheme: "http" }],
  ["without a Secret in its spec is reached over TLS without a Secret", asking({ provider: "Secret" }, { scheme: "https" }), { scheme: "https" }],
])("a cluster %s", (_, cluster, reach) => expect(reachOf(cluster)).toStrictEqual(reach)); // biome-ignore format: a table

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
  ["an archive's Job stays before its cluster switches to TLS", made(PLAIN, TO_TLS, ARCHIVE), LEFT],
  ["an archive's Job is replaced by one with TLS while the cluster serves HTTP and HTTPS", made(PLAIN, BOTH_TO_TLS, ARCHIVE), RENEWED],
  ["an archive's Job is replaced by one with TLS when only TLS is served", made(PLAIN, TLS, ARCHIVE), RENEWED],
  ["an archive's Job with TLS stays while the cluster serves HTTP and HTTPS", made(BOTH_TO_TLS, BOTH_TO_TLS, ARCHIVE), LEFT],
  ["an archive's Job with TLS stays when only TLS is served", made(BOTH_TO_TLS, TLS, ARCHIVE), LEFT],
  ["an archive's Job with TLS stays before its cluster switches to plain HTTP", made(TLS, FROM_TLS, ARCHIVE), LEFT],
  ["an archive's Job is replaced by one without TLS while the cluster serves HTTP and HTTPS", made(TLS, BOTH_FROM_TLS, ARCHIVE), RENEWED],
  ["an archive's Job is replaced by one without TLS when only plain HTTP is served", made(TLS, PLAIN, ARCHIVE), RENEWED],
  ["an archive's Job without TLS stays while members stop serving TLS one at a time", made(BOTH_FROM_TLS, FROM_TLS, ARCHIVE), LEFT],
  ["an archive's Job is replaced when the cluster uses another Secret", made(TLS, BY_PEOPLE, ARCHIVE), RENEWED],
  ["an archive's Job stays while the operator still uses the previous Secret", made(TLS, asking(BROUGHT, { scheme: "https", issuedBy: OPERATOR }), ARCHIVE), LEFT],
  ["an archive's Job stays while its cluster has no quorum", made(PLAIN, asking(OPERATOR, { scheme: "https", status: NO_QUORUM }), ARCHIVE), LEFT],
  ["a failed archive Job is replaced even when its cluster has no quorum", made(TLS, asking(NONE, { scheme: "http", status: NO_QUORUM }), { ...ARCHIVE, ...failed("SourceTLS") }), RENEWED],
  ["an archive's Job that is being deleted is not deleted again", of(made(PLAIN, TLS, ARCHIVE), { deletionTimestamp: SINCE }), LEFT],
  ["the Job of a running snapshot stays when the cluster switches to TLS", made(PLAIN, TLS), LEFT],
  ["a snapshot's Job without a pod is replaced by one with TLS", idle(made(PLAIN, TLS)), RENEWED],
  ["a snapshot's Job stays when its pod has succeeded", done(made(PLAIN, TLS)), LEFT],
  ["a snapshot's Job is replaced when its pod waits for the previous Secret", idle(made(TLS, BY_PEOPLE), { waiting: { reason: "ContainerCreating" } }), RENEWED],
  ["a snapshot's Job that failed over TLS is replaced by one without TLS", made(TLS, PLAIN, failed("SourceTLS")), RENEWED],
  ["a snapshot's Job that could not reach the cluster is replaced by one with TLS", made(PLAIN, TLS, failed("SourceUnreachable")), RENEWED],
  ["a snapshot's Job with a failed login is replaced when the cluster uses another Secret", made(TLS, BY_PEOPLE, failed("SourceAuth")), RENEWED],
  ["a snapshot that failed for another reason stays failed after a switch", made(TLS, PLAIN, failed("NoSpace")), "warn: backup-failed"],
  ["a snapshot that failed over TLS stays failed when the cluster still uses TLS", made(TLS, TLS, failed("SourceTLS")), "warn: backup-failed"],
  ["a stored snapshot stays completed after a switch to TLS", made(PLAIN, TLS, { stage: "succeeded" }), "wait: backup-completed"],
  ["a succeeded archive stays completed after a switch to TLS", made(PLAIN, TLS, { ...ARCHIVE, stage: "succeeded" }), "wait: backup-completed"],
])("%s", (_, snapshot, expected) => expect(text(snapshot)).toBe(expected)); // biome-ignore format: a table

test("the plan shows how the cluster is reached now and how it was reached before", () => {
  const plan = planBackup(made(PLAIN, TLS, ARCHIVE));
  expect(plan).toMatchObject({
    because:
      "Job nightly is replaced: EtcdCluster my-etcd is now reached over TLS with Secret my-etcd-operator-tls instead of over plain HTTP",
  });
  const unnamed = asking({ provider: "Secret" }, { scheme: "https" });
  expect(otherReach(made(unnamed, TLS))).toMatch(/instead of over TLS without a Secret$/);
  expect(otherReach(made(TLS, PLAIN))).toBe("EtcdCluster my-etcd is now reached over plain HTTP instead of over TLS with Secret my-etcd-operator-tls"); // biome-ignore format: one line
});

test("a failed Job that will be replaced does not fail the backup, and its reason is shown", () => {
  expect(verdictOf(made(TLS, PLAIN, failed("SourceTLS")))).toEqual({
    phase: "BackingUp",
    reason: "Retrying",
    message: "an attempt has failed and a new Job follows: SourceTLS: no",
  });
});

test("a Job stays when it is foreign, has no endpoints, or backs up another etcd cluster", () => {
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

test("the new Job mounts the TLS Secret, and over plain HTTP none", () => {
  const jobFor = (cluster: EtcdCluster) => {
    const snapshot = backup({ stage: "new", ...ARCHIVE, with: { cluster } });
    return JSON.stringify(backupJob(snapshot, goodTarget(snapshot), IMAGE));
  };
  expect(jobFor(BOTH_TO_TLS)).toMatch(/https:\/\/my-etcd-0.*my-etcd-operator-tls/);
  expect(jobFor(FROM_TLS)).toMatch(/https:\/\/my-etcd-0.*my-etcd-operator-tls/);
  for (const cluster of [TO_TLS, BOTH_FROM_TLS]) expect(jobFor(cluster)).not.toMatch(/https|-tls/);
});
