import { expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import { backupJob } from "#backup/desired/job.ts";
import { planBackup } from "#backup/plan.ts";
import { otherReach, reachOf } from "#backup/reach.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { verdictOf } from "#backup/verdict.ts";
import { agentPod, available, backup, goodTarget, IMAGE, isAvailable } from "#kit/etcd-backup.ts";
import { planText } from "#kit/plan-text.ts";
import type { Job } from "#kube/kinds.ts";

// A cluster goes over to TLS, back from it, or to what somebody else issues, while a Job of a backup is at work.

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

/** @param client what the spec asks for @param served how members serve clients by now */
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
  ["that says nothing of how it serves", asking(OPERATOR), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["that is to have TLS", TO_TLS, { scheme: "http" }],
  ["that serves both, and is to have TLS", BOTH_TO_TLS, { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["that serves both before each of its pods shows TLS", asking(OPERATOR, { scheme: "http", both: true }), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["with TLS", TLS, { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["with what people bring", asking(BROUGHT, { scheme: "https", issuedBy: BROUGHT }), { scheme: "https", secretName: "mine" }],
  ["with what people are to bring", asking(BROUGHT, { scheme: "https", issuedBy: OPERATOR }), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["that is to go back", FROM_TLS, { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["that is to go back from what people have brought", asking(NONE, { scheme: "https", issuedBy: BROUGHT }), { scheme: "https", secretName: "mine" }],
  ["that is to go back, and says nothing of who issues", asking(NONE, { scheme: "https" }), { scheme: "https", secretName: "my-etcd-operator-tls" }],
  ["that serves both, and goes back", BOTH_FROM_TLS, { scheme: "http" }],
  ["with a Secret that is not named", asking({ provider: "Secret" }, { scheme: "https" }), { scheme: "https" }],
])("how a cluster %s is asked", (_, cluster, reach) => expect(reachOf(cluster)).toStrictEqual(reach)); // biome-ignore format: a table

/** Its Job was made for a cluster that is another one by now. */
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

/** Its pod has this state, or it has none. */
function idle(snapshot: BackupSnapshot, state?: object): BackupSnapshot {
  const { job } = snapshot.taking!;
  return {
    ...snapshot,
    taking: { job, pods: state === undefined ? [] : [agentPod(job, { phase: "Pending" }, state)] },
  };
}

/** Its pod has done the work, and its Job does not say so yet. */
function done(snapshot: BackupSnapshot): BackupSnapshot {
  const { job } = snapshot.taking!;
  return { ...snapshot, taking: { job, pods: [agentPod(job, { phase: "Succeeded" }, {})] } };
}

const NO_QUORUM = { conditions: [isAvailable("False", "QuorumLost")] };
const failed = (reason: Parameters<typeof failure>[0]) => ({ stage: "failed" as const, report: failure(reason, "no") });

test.each<[string, BackupSnapshot, string]>([
  ["an archive is left while its cluster is only to have TLS", made(PLAIN, TO_TLS, ARCHIVE), LEFT],
  ["an archive goes over to TLS while both are served", made(PLAIN, BOTH_TO_TLS, ARCHIVE), RENEWED],
  ["an archive goes over to TLS when nothing else is served", made(PLAIN, TLS, ARCHIVE), RENEWED],
  ["an archive that has gone over to TLS is left", made(BOTH_TO_TLS, BOTH_TO_TLS, ARCHIVE), LEFT],
  ["and when nothing else is served", made(BOTH_TO_TLS, TLS, ARCHIVE), LEFT],
  ["an archive over TLS is left while its cluster is only to go back", made(TLS, FROM_TLS, ARCHIVE), LEFT],
  ["an archive goes back while both are served", made(TLS, BOTH_FROM_TLS, ARCHIVE), RENEWED],
  ["an archive goes back when nothing else is served", made(TLS, PLAIN, ARCHIVE), RENEWED],
  ["an archive that has gone back stays so while members stop to serve TLS one after another", made(BOTH_FROM_TLS, FROM_TLS, ARCHIVE), LEFT],
  ["an archive goes over to another Secret", made(TLS, BY_PEOPLE, ARCHIVE), RENEWED],
  ["an archive is left as long as the operator shows the former one", made(TLS, asking(BROUGHT, { scheme: "https", issuedBy: OPERATOR }), ARCHIVE), LEFT],
  ["an archive is left while its cluster has no quorum", made(PLAIN, asking(OPERATOR, { scheme: "https", status: NO_QUORUM }), ARCHIVE), LEFT],
  ["an archive that has failed is made anew all the same", made(TLS, asking(NONE, { scheme: "http", status: NO_QUORUM }), { ...ARCHIVE, ...failed("SourceTLS") }), RENEWED],
  ["an archive is ended once", of(made(PLAIN, TLS, ARCHIVE), { deletionTimestamp: SINCE }), LEFT],
  ["a snapshot is left to whoever takes it", made(PLAIN, TLS), LEFT],
  ["a snapshot whose attempt has failed is taken over TLS", idle(made(PLAIN, TLS)), RENEWED],
  ["a snapshot that is taken, as its pod says before its Job does, is left", done(made(PLAIN, TLS)), LEFT],
  ["a snapshot whose pod waits for a Secret is taken with the other one", idle(made(TLS, BY_PEOPLE), { waiting: { reason: "ContainerCreating" } }), RENEWED],
  ["a snapshot that cannot be taken over TLS any more is taken without", made(TLS, PLAIN, failed("SourceTLS")), RENEWED],
  ["a snapshot that was not answered any more is taken over TLS", made(PLAIN, TLS, failed("SourceUnreachable")), RENEWED],
  ["a snapshot for which its user may not be asked any more is taken with the other Secret", made(TLS, BY_PEOPLE, failed("SourceAuth")), RENEWED],
  ["a snapshot that has failed for another reason has failed", made(TLS, PLAIN, failed("NoSpace")), "warn: backup-failed"],
  ["a snapshot that has failed as it is asked by now has failed", made(TLS, TLS, failed("SourceTLS")), "warn: backup-failed"],
  ["a snapshot that is stored is stored", made(PLAIN, TLS, { stage: "succeeded" }), "wait: backup-completed"],
  ["an archive that somehow ended well has", made(PLAIN, TLS, { ...ARCHIVE, stage: "succeeded" }), "wait: backup-completed"],
])("%s", (_, snapshot, expected) => expect(text(snapshot)).toBe(expected)); // biome-ignore format: a table

test("why another Job takes its place is told", () => {
  const plan = planBackup(made(PLAIN, TLS, ARCHIVE));
  expect(plan).toMatchObject({
    because:
      "Job nightly is made anew: EtcdCluster my-etcd is asked over TLS with Secret my-etcd-operator-tls by now, and no more over plain HTTP",
  });
  const unnamed = asking({ provider: "Secret" }, { scheme: "https" });
  expect(otherReach(made(unnamed, TLS))).toMatch(/and no more over TLS without a Secret$/);
  expect(otherReach(made(TLS, PLAIN))).toBe("EtcdCluster my-etcd is asked over plain HTTP by now, and no more over TLS with Secret my-etcd-operator-tls"); // biome-ignore format: one line
});

test("what has failed for that has not failed, and says why", () => {
  expect(verdictOf(made(TLS, PLAIN, failed("SourceTLS")))).toEqual({
    phase: "BackingUp",
    reason: "Retrying",
    message: "an attempt has failed, another Job follows: SourceTLS: no",
  });
});

test("of a Job that is another one's, says nothing of where it asks, or asks another etcd, nothing is thought", () => {
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
  const told = (source: object | undefined) => {
    const spec = structuredClone(job.spec) as never as {
      template: { spec: { containers: { env: { value: string }[] }[] } };
    };
    const [variable] = spec.template.spec.containers[0]!.env;
    variable!.value = JSON.stringify({ ...(JSON.parse(variable!.value) as object), source });
    return { ...stale, taking: { pods, job: { ...job, spec } as never as Job } };
  };
  expect(otherReach(told({ endpoints: [], clusterID: TLS.status!.identity!.clusterID }))).toBeUndefined();
  expect(otherReach(told(undefined))).toBeUndefined();
});

test("the Job that takes its place asks over TLS, with the Secret; over plain HTTP it mounts none", () => {
  const jobFor = (cluster: EtcdCluster) => {
    const snapshot = backup({ stage: "new", ...ARCHIVE, with: { cluster } });
    return JSON.stringify(backupJob(snapshot, goodTarget(snapshot), IMAGE));
  };
  expect(jobFor(BOTH_TO_TLS)).toMatch(/https:\/\/my-etcd-0.*my-etcd-operator-tls/);
  expect(jobFor(FROM_TLS)).toMatch(/https:\/\/my-etcd-0.*my-etcd-operator-tls/);
  for (const cluster of [TO_TLS, BOTH_FROM_TLS]) expect(jobFor(cluster)).not.toMatch(/https|-tls/);
});
