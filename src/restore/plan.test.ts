import { expect, test } from "vitest";
import { type AgentReport, failure } from "#agent/report.ts";
import { BACKUP_DESTINATION_LABEL } from "#api/names.ts";
import { SPEC_LIMIT } from "#api/size-limit.ts";
import { DEFAULT_TLS, NO_TLS } from "#api/tls.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { admitting } from "#kit/snapshots/cluster-network.ts";
import { destinationClaim, withProxy } from "#kit/snapshots/etcd-backup.ts";
import {
  BY_URL,
  broughtWith,
  claimAt,
  clusterOf,
  ended,
  FINISHED,
  failed,
  foreignClaim,
  jobOf,
  ON_VOLUME,
  restore,
  restorePod,
  sourceBackup,
  succeeded,
  withMember,
} from "#kit/snapshots/etcd-restore.ts";
import { planText } from "#kit/tables/plan-text.ts";
import type { Job } from "#kube/kinds.ts";
import { sizeOf } from "#kube/object-size.ts";
import { planRestore, RESTORE_RULES } from "#restore/plan.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreStep } from "#restore/step.ts";

function stepText(step: RestoreStep): string {
  if ("job" in step) return `${step.do} ${step.job.metadata.name.replace(/.*-/, "")}`;
  if ("claim" in step) return `${step.do} ${step.claim.metadata.name}`;
  return step.do === "createCluster" ? `${step.do} ${step.cluster.metadata.name}` : step.do;
}

const MINUTE = 60_000;
const STARTED = { phase: "Pending", startTime: "2026-01-01T12:00:00Z" } as const;
const ARCHIVE = { archive: { keepFor: "1h" } };
const FAILED = { phase: "Failed" } as const;
const FAILED_NOW = { phase: "Failed", completionTime: "2026-01-01T12:00:00Z" } as const;
const COMPLETED = { phase: "Completed" } as const;
const running = restore();
const job = jobOf(running, running.members[1]!);
const other = clusterOf(running, true);
const live = {
  ...other,
  metadata: { ...other.metadata, annotations: {} },
  status: { ...other.status, identity: { clusterID: "b0b", token: "t", initialMembers: [] } },
};

function later(snapshot: RestoreSnapshot, ms: number): RestoreSnapshot {
  return { ...snapshot, takenAtMs: snapshot.takenAtMs + ms };
}

/** Result of the backup's verification. */
function verdict(status: "True" | "False", reason: string) {
  return { type: "Verified", status, reason, message: "a key differs" };
}

const GIB = 1024 ** 3;

/** An EtcdBackup with a snapshot of this size. */
function sized(bytes: number): EtcdBackup {
  return sourceBackup({ object: { ...sourceBackup().status!.object!, bytes } });
}

/** The backup is being deleted and held by its finalizer. */
function going(backup: EtcdBackup): EtcdBackup {
  return { ...backup, metadata: { ...backup.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
}

const MISSPELT = admitting([{ podSelector: { matchlabels: {} } }]);

/** The cluster that asked for the restore has this value. */
function asking(
  spec: object,
  given: NonNullable<Parameters<typeof restore>[0]>["with"] = {},
  stage: "new" | "running" = "new",
): RestoreSnapshot {
  const snapshot = restore({ stage, with: given });
  const { clusterTemplate } = snapshot.restore.spec;
  const template = { ...clusterTemplate, spec: { ...clusterTemplate.spec, ...spec } };
  return {
    ...snapshot,
    restore: { ...snapshot.restore, spec: { ...snapshot.restore.spec, clusterTemplate: template } },
  };
}

/** Number of characters in the cluster's spec. */
function askingLong(characters: number): RestoreSnapshot {
  const annotated = (text: string) => asking({ podTemplate: { metadata: { annotations: { a: text } } } });
  return annotated("x".repeat(characters - sizeOf(annotated("").restore.spec.clusterTemplate.spec).characters));
}

/** A backup of half a GiB for volumes of 1 GiB, one of which has this capacity and the others 4 GiB. */
function roomy(capacity: string): RestoreSnapshot {
  const size = { storage: { size: "1Gi", accessModes: ["ReadWriteOnce"] } };
  const staged: RestoreSnapshot = {
    ...restore({ stage: "claims" }),
    restore: asking(size).restore,
    backup: sized(GIB / 2),
  };
  return [capacity, "4Gi", "4Gi"].reduce((snapshot, storage, n) => {
    const claim = claimAt(snapshot, `restored-${n}`);
    return withMember(snapshot, n, { claim: { ...claim, status: { capacity: { storage } } } });
  }, staged);
}

/** Number of values in the cluster's spec. */
function askingMany(values: number): RestoreSnapshot {
  const listed = (args: readonly string[]) => asking({ podTemplate: { spec: { containers: [{ name: "a", args }] } } });
  return listed(Array(values - sizeOf(listed([]).restore.spec.clusterTemplate.spec).values).fill("x"));
}

/** The second claim could not be filled. */
function failing(states?: Parameters<typeof failed>[1]): RestoreSnapshot {
  return withMember(running, 1, { filling: failed(job, states) });
}

/** What the last attempt found in the data directory. */
function lying(sha256: string): AgentReport {
  return { ...FINISHED, moved: false, sha256 };
}

/** All claims are filled, and the pod that filled this one is gone. */
function mute(snapshot: RestoreSnapshot, ordinal = 1): RestoreSnapshot {
  return withMember(snapshot, ordinal, { filling: { ...snapshot.members[ordinal]!.filling!, pods: [] } });
}

/** The EtcdBackup was created after the Jobs, or in the same second, which may be after them. */
function born(backup: EtcdBackup, creationTimestamp = "2026-01-01T11:59:55Z"): EtcdBackup {
  return { ...backup, metadata: { ...backup.metadata, creationTimestamp } };
}

const jobMadeAt = restore({ stage: "filled" }).members[1]!.filling!.job.metadata.creationTimestamp!;

/** The cache does not show the pod that filled the second claim. */
const unseen = mute(restore({ stage: "filled", spec: BY_URL }));

function theirs(of: Job): Job {
  return { ...of, metadata: { ...of.metadata, ownerReferences: [] } };
}

/** Number of claims with an identity. */
function identified(count: number, given: Parameters<typeof restore>[0] = {}): RestoreSnapshot {
  let snapshot = restore({ stage: "filled", ...given });
  for (let n = 0; n < count; n++)
    snapshot = withMember(snapshot, n, { claim: claimAt(snapshot, `restored-${n}`, true) });
  return snapshot;
}

const cases: { name: string; given: RestoreSnapshot; expect: string; because?: string | RegExp }[] = [
  { name: "sets the finalizer before anything is created", given: restore({ stage: "new" }), expect: "hold-restore: holdRestore" },
  { name: "creates the first claim once the finalizer is set", given: restore({ stage: "new", held: true }), expect: "create-claim: createClaim restored-0", because: "one claim per member; restored-0 is missing" },
  { name: "creates a claim for the member that has none", given: withMember(restore({ stage: "claims" }), 2, { claim: undefined }), expect: "create-claim: createClaim restored-2" },
  { name: "creates the first member's Job once all claims exist", given: restore({ stage: "claims" }), expect: "fill-claim: createJob 0", because: "claim restored-0 is filled with the snapshot s3://backups/foo/my-etcd/u/nightly.db" },
  { name: "fills claims from an object that spec.source names by URL", given: restore({ stage: "claims", spec: BY_URL }), expect: "fill-claim: createJob 0", because: "s3://bucket/k.db?region=eu-1" },
  { name: "fills claims from an object on a labelled claim", given: restore({ stage: "claims", spec: ON_VOLUME }), expect: "fill-claim: createJob 0", because: "volume://backups/nightly/k.db" },
  { name: "creates the next member's Job while the first Job runs", given: withMember(restore(), 1, { filling: undefined }), expect: "fill-claim: createJob 1" },
  { name: "waits while the Jobs run", given: running, expect: "wait: await-claims", because: "0 of 3 claims are filled" },
  { name: "waits for the pod of a Job to be created", given: restore({ stage: "made" }), expect: "wait: await-claims", because: /^the pod of Job restore-.*-0 is not created yet$/ },
  { name: "waits while a pod initializes", given: restore({ stage: "starting" }), expect: "wait: await-claims", because: /container finish waits: PodInitializing$/ },
  { name: "shows Kubernetes' quota warning while a pod cannot be created", given: restore({ stage: "made", with: { warnings: ["exceeded quota: q"] } }), expect: "warn: await-claims", because: "cannot be created: exceeded quota: q" },
  { name: "warns of a Secret that does not exist", given: restore({ stage: "starting", with: { warnings: ['MountVolume.SetUp failed: secret "s3" not found'] } }), expect: "warn: await-claims", because: /among s3: MountVolume/ },
  { name: "fails when a pod has not started after ten minutes", given: later(restore({ stage: "starting" }), 10 * MINUTE), expect: "warn: restore-failed", because: /^PodPending: .*; it was waited for 10 minutes$/ },
  { name: "warns of an attempt that failed and is retried", given: withMember(running, 1, { filling: { job, pods: [restorePod(job, "Failed", [ended(1, failure("StoreUnreachable", "no route"))])] } }), expect: "warn: await-claims", because: "is retried: StoreUnreachable: no route" },
  { name: "fails with the reason that the agent reports", given: failing(), expect: "warn: restore-failed", because: "BadKey: the object is encrypted with the key 01234567" },
  { name: "fails with the output of etcdutl", given: failing([ended(0), ended(1, "Error: expected sha256")]), expect: "warn: restore-failed", because: "RestoreToolFailed: Error: expected sha256" },
  { name: "annotates the claims with their identity when all are filled", given: restore({ stage: "filled" }), expect: "identify-claims: identifyClaim restored-0" },
  { name: "annotates no claim with its identity before all are filled", given: withMember(restore({ stage: "filled" }), 2, { filling: running.members[2]!.filling }), expect: "wait: await-claims", because: "2 of 3 claims are filled" },
  { name: "annotates claims with their identity one after another", given: identified(1), expect: "identify-claims: identifyClaim restored-1" },
  { name: "annotates all claims with their identity, although a Job is gone", given: withMember(identified(2), 2, { filling: undefined }), expect: "identify-claims: identifyClaim restored-2" },
  { name: "annotates all claims with their identity, although the EtcdRestore is being deleted", given: identified(2, { deleting: true }), expect: "identify-claims: identifyClaim restored-2" },
  { name: "creates the cluster when all claims have their identity", given: restore({ stage: "told" }), expect: "create-cluster: createCluster restored" },
  { name: "creates no cluster when the cluster that asked for the restore exists", given: restore({ stage: "told", askedBy: "uid-of-restored", with: { cluster: { ...clusterOf(running), status: {} } } }), expect: "wait: await-cluster" },
  { name: "creates no cluster when another cluster asked for the restore and is gone", given: restore({ stage: "told", askedBy: "uid-of-restored" }), expect: "wait: await-cluster" },
  { name: "waits for the cluster to be Ready", given: restore({ stage: "forming" }), expect: "wait: await-cluster", because: "EtcdCluster restored is not Ready yet: its status has no condition Ready" },
  { name: "waits until the cluster has reached the restored revision", given: restore({ stage: "ready", with: { read: { is: "present", value: 11n } } }), expect: "wait: await-cluster", because: "is at revision 11, and must reach at least 1000000012" },
  { name: "waits until the cluster's revision can be read", given: restore({ stage: "ready", with: { read: { is: "unknown", why: "no" } } }), expect: "wait: await-cluster", because: "its revision is not known: no" },
  { name: "reports completion when the cluster is Ready at the restored revision", given: restore({ stage: "ready" }), expect: "wait: restore-completed", because: "EtcdCluster restored is Ready, at revision 1000000012" },
  { name: "removes the finalizer of a completed restore", given: restore({ stage: "ready", status: COMPLETED }), expect: "release-restore: releaseRestore" },
  { name: "deletes the Jobs of a completed restore", given: restore({ stage: "ready", status: COMPLETED, held: false }), expect: "clear-jobs: deleteJob 0" },
  { name: "does nothing for a completed restore without Jobs", given: clearedJobs(restore({ stage: "ready", status: COMPLETED, held: false })), expect: "settled" },
  { name: "keeps the Jobs of a failed restore for five minutes, for their logs", given: later(restore({ stage: "told", held: false, status: FAILED_NOW }), 5 * MINUTE - 1), expect: "settled" },
  { name: "deletes the Jobs of a failed restore after five minutes", given: begin(restore({ stage: "told", held: false })).apply(restoreOf, FAILED_NOW, 3).apply(later, 5 * MINUTE).snapshot, expect: "clear-jobs: deleteJob 0" },
  { name: "waits while foreign claims with the members' names are being deleted", given: begin(foreignClaims()).apply(withMember, 0, { claim: foreignClaim("restored-0") }).apply(deletedClaims).snapshot, expect: "warn: await-place", because: "is being deleted; a pod may still use it" },
  { name: "refuses a foreign claim that stays while others are being deleted", given: begin(foreignClaims()).apply(deletedClaims).apply(withMember, 1, { claim: foreignClaim("restored-1") }).snapshot, expect: "warn: restore-failed", because: "ClaimExists: claim restored-1 exists already" },
  { name: "does nothing for a completed restore when its claims are gone", given: restore({ stage: "new", status: COMPLETED }), expect: "settled" },
  { name: "deletes the running Jobs of a failed restore", given: restore({ status: FAILED }), expect: "stop-jobs: deleteJob 0" },
  { name: "does not delete a Job that is already being deleted", given: { ...restore({ status: FAILED }), members: restore({ status: FAILED }).members.map((each) => ({ ...each, filling: { ...each.filling!, job: { ...each.filling!.job, metadata: { ...each.filling!.job.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } } } })) }, expect: "delete-claims: deleteClaim restored-0" },
  { name: "keeps a failed Job for its log when the restore has failed, and deletes the claims", given: restoreOf(failing(), FAILED, 1), expect: "delete-claims: deleteClaim restored-0" },
  { name: "does not delete a claim that is already being deleted", given: deletedClaims(restore({ stage: "claims", status: FAILED })), expect: "release-restore: releaseRestore" },
  { name: "does nothing when the claims of a failed restore are deleted", given: restore({ stage: "new", status: FAILED }), expect: "settled" },
  { name: "never deletes a claim with an identity", given: restore({ stage: "told", status: FAILED }), expect: "release-restore: releaseRestore" },
  { name: "never deletes a foreign claim", given: withMember(restore({ stage: "new", held: true, status: FAILED }), 0, { claim: foreignClaim("restored-0", "old") }), expect: "release-restore: releaseRestore" },
  { name: "deletes its Jobs when the EtcdRestore is deleted", given: restore({ deleting: true }), expect: "stop-jobs: deleteJob 0" },
  { name: "deletes its claims when the EtcdRestore is deleted", given: restore({ stage: "claims", deleting: true }), expect: "delete-claims: deleteClaim restored-0" },
  { name: "removes the finalizer when the EtcdRestore is deleted and has no claims", given: restore({ stage: "new", held: true, deleting: true }), expect: "release-restore: releaseRestore" },
  { name: "removes the finalizer when the EtcdRestore is deleted, and keeps claims with an identity", given: restore({ stage: "told", deleting: true }), expect: "release-restore: releaseRestore" },
  { name: "creates nothing while the EtcdRestore is being deleted", given: restore({ stage: "new", deleting: true }), expect: "settled" },
  { name: "creates no cluster while the EtcdRestore is being deleted", given: restore({ stage: "told", deleting: true, held: false }), expect: "settled" },
  { name: "refuses to restore when another cluster of the name exists", given: restore({ stage: "new", with: { cluster: live } }), expect: "warn: restore-failed", because: "ClusterExists: EtcdCluster restored exists already, which is etcd cluster b0b" },
  { name: "refuses to restore when a cluster of the name is being created", given: restore({ stage: "new", with: { cluster: { ...live, status: {} } } }), expect: "warn: restore-failed", because: "ClusterExists: EtcdCluster restored exists already, which is being created" },
  { name: "fails when another cluster of the name exists before the restored cluster is created", given: restore({ stage: "told", with: { cluster: live } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "accepts the cluster that asked for the restore while it has no data", given: restore({ stage: "new", askedBy: "uid-of-restored", with: { cluster: { ...live, status: {} } } }), expect: "hold-restore: holdRestore" },
  { name: "refuses the cluster that asked for the restore when it has data", given: restore({ stage: "new", askedBy: "uid-of-restored", with: { cluster: live } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "refuses a cluster with another uid than the one that asked for the restore", given: restore({ stage: "new", askedBy: "another", with: { cluster: { ...live, status: {} } } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "refuses existing foreign claims", given: withMember(restore({ stage: "new" }), 1, { claim: foreignClaim("restored-1") }), expect: "warn: restore-failed", because: /^ClaimExists: claim restored-1 exists already, and is never overwritten/ },
  { name: "refuses claims of an earlier EtcdRestore of the same name", given: withMember(restore({ stage: "new" }), 0, { claim: foreignClaim("restored-0", "old") }), expect: "warn: restore-failed", because: "created by the EtcdRestore with uid old" },
  { name: "refuses a claim of a later ordinal, which the cluster would adopt", given: restore({ stage: "new", with: { otherClaims: [foreignClaim("restored-4")] } }), expect: "warn: restore-failed", because: "claim restored-4 exists already" },
  { name: "ignores claims of later ordinals once the cluster exists", given: restore({ stage: "ready", with: { otherClaims: [foreignClaim("restored-4")] } }), expect: "wait: restore-completed" },
  { name: "warns of a foreign Job of the same name", given: withMember(running, 0, { filling: { job: theirs(job), pods: [] } }), expect: "warn: await-place", because: "exists already: it has no controller" },
  { name: "fails when a claim is lost before completion", given: withMember(running, 2, { claim: undefined }), expect: "warn: restore-failed", because: "ClaimLost: claim restored-2 is gone, before the restore was complete" },
  { name: "fails when a claim is lost before the cluster is created", given: withMember(restore({ stage: "told" }), 2, { claim: undefined }), expect: "warn: restore-failed", because: "ClaimLost: claim restored-2 is gone, before its cluster existed" },
  { name: "waits for an EtcdBackup that is running", given: restore({ stage: "new", with: { backup: sourceBackup({ phase: "BackingUp" }) } }), expect: "wait: await-source", because: "EtcdBackup nightly is still running" },
  { name: "waits without limit for an EtcdBackup that is running", given: later(restore({ stage: "new", status: STARTED, with: { backup: sourceBackup({ phase: "BackingUp" }) } }), 100 * MINUTE), expect: "wait: await-source" },
  { name: "fills a claim in a pod with an added container that keeps running", given: withMember(restore({ stage: "filled" }), 1, { filling: withProxy(succeeded(job)) }), expect: "identify-claims: identifyClaim restored-0" },
  { name: "ends a Job that has filled its claim in a pod with an added container", given: withMember(identified(3), 1, { filling: withProxy(succeeded(job)) }), expect: "end-job: deleteJob 1" },
  { name: "leaves a Job with an added container alone until all claims are filled", given: withMember(running, 1, { filling: withProxy(succeeded(job)) }), expect: "wait: await-claims" },
  { name: "fills the next claim before a pod is ended in which an added container keeps running", given: withMember(withMember(running, 0, { filling: undefined }), 1, { filling: withProxy(failed(job, [ended(0), ended(0), ended(1, "killed")])) }), expect: "fill-claim: createJob 0" },
  { name: "does not end a Job that is being deleted", given: withMember(identified(3), 1, { filling: withProxy(succeeded({ ...job, metadata: { ...job.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } })) }), expect: "create-cluster: createCluster restored" },
  { name: "leaves a Job to Kubernetes that has filled its claim and is about to end", given: withMember(identified(3), 1, { filling: { ...succeeded(job), job } }), expect: "create-cluster: createCluster restored" },
  { name: "ends a pod in which the agent has failed and an added container keeps running", given: withMember(running, 1, { filling: withProxy(failed(job, [ended(0), ended(0), ended(1, "killed")])) }), expect: "end-pod: deletePod" },
  { name: "ends the Job of a given up restore in a pod with an added container", given: withMember(restore({ status: FAILED_NOW }), 0, { filling: withProxy(succeeded(jobOf(running, running.members[0]!))) }), expect: "stop-jobs: deleteJob 0" },
  { name: "waits for a missing EtcdBackup", given: restore({ stage: "new", with: { backup: undefined } }), expect: "warn: await-source", because: "this namespace has no EtcdBackup nightly" },
  { name: "fails when the EtcdBackup is missing for ten minutes", given: later(restore({ stage: "new", status: STARTED, with: { backup: undefined } }), 10 * MINUTE), expect: "warn: restore-failed", because: /^BackupNotFound: .*; it was waited for 10 minutes$/ },
  { name: "refuses the EtcdBackup of an archive, which holds no snapshot and never completes", given: restore({ stage: "new", with: { backup: sourceBackup({ phase: "BackingUp" }, ARCHIVE) } }), expect: "warn: restore-failed", because: "SpecRefused: spec.source.backupName is nightly, which archives changes and has no snapshot; name a Completed EtcdBackup of the same cluster and destination" },
  { name: "refuses the EtcdBackup of an archive that has failed", given: restore({ stage: "new", with: { backup: sourceBackup({ phase: "Failed" }, ARCHIVE) } }), expect: "warn: restore-failed", because: "spec.until" },
  { name: "refuses a failed EtcdBackup", given: restore({ stage: "new", with: { backup: sourceBackup({ phase: "Failed" }) } }), expect: "warn: restore-failed", because: "BackupFailed: EtcdBackup nightly has failed: its status has no reason" },
  { name: "refuses a backup that failed its verification, and shows how to restore it anyway", given: restore({ stage: "new", with: { backup: sourceBackup({ objectURL: "s3://b/k", conditions: [verdict("False", "VerificationFailed")] }) } }), expect: "warn: restore-failed", because: "BackupFailed: the verification of EtcdBackup nightly found its data wrong: VerificationFailed: a key differs; to restore it nevertheless, name its object in spec.source.object (s3://b/k)" },
  { name: "accepts a backup when its verification could not run", given: restore({ stage: "new", with: { backup: sourceBackup({ conditions: [verdict("False", "PodPending")] }) } }), expect: "hold-restore: holdRestore" },
  { name: "accepts a complete EtcdBackup", given: restore({ stage: "new", with: { backup: sourceBackup({ conditions: [verdict("True", "Verified")] }) } }), expect: "hold-restore: holdRestore" },
  { name: "treats an EtcdBackup that is being deleted as missing", given: restore({ stage: "new", with: { backup: going(sourceBackup()) } }), expect: "warn: await-source", because: "EtcdBackup nightly is being deleted, and its object may be deleted with it" },
  { name: "tries a backup that the daily check did not find, since its object may be there again", given: restore({ stage: "new", with: { backup: sourceBackup({ conditions: [{ ...verdict("False", "NoSuchObject"), type: "ObjectFound" }] }) } }), expect: "hold-restore: holdRestore" },
  { name: "continues to read a source that is deleted or found defective after the Jobs were created", given: restore({ with: { backup: going(sourceBackup({ conditions: [verdict("False", "VerificationFailed")] })) } }), expect: "wait: await-claims" },
  { name: "refuses the EtcdBackup of a later minor release", given: restore({ stage: "new", with: { backup: sourceBackup({ object: { ...sourceBackup().status!.object!, etcdVersion: "3.7.1" } }) } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.version is 3.6.16, and the snapshot is of etcd 3.7.1" },
  { name: "refuses a snapshot of a later release as soon as it is fetched", given: withMember(restore({ spec: BY_URL }), 1, { filling: { job, pods: [restorePod(job, "Pending", [ended(0, broughtWith({ etcdVersion: "3.7.0", hasManifest: false })), { running: {} }])] } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.version is 3.6.16, and the snapshot is of etcd 3.7.0; it must be that minor release or a later one" },
  { name: "refuses a snapshot of a later release, whatever etcdutl reports", given: withMember(restore({ spec: BY_URL }), 1, { filling: failed(job, [ended(0, broughtWith({ etcdVersion: "4.0.0" })), ended(1, "Error: odd")]) }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.version is 3.6.16, and the snapshot is of etcd 4.0.0" },
  { name: "refuses the EtcdBackup of a database as large as the default quota", given: restore({ stage: "new", with: { backup: sized(2 * GIB) } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.etcd.backendQuota is not set: the database may have 2147483648 bytes, and the snapshot has 2147483648, so etcd would refuse every write. Set spec.clusterTemplate.spec.etcd.backendQuota to mode Fixed" },
  { name: "accepts the EtcdBackup of a database smaller than the default quota", given: restore({ stage: "new", with: { backup: sized(2 * GIB - 1) } }), expect: "hold-restore: holdRestore" },
  { name: "accepts a large EtcdBackup with a larger quota", given: asking({ etcd: { backendQuota: { mode: "Fixed", size: "4Gi" } } }, { backup: sized(3 * GIB) }), expect: "hold-restore: holdRestore" },
  { name: "refuses an EtcdBackup that is larger than the quota in the spec", given: asking({ etcd: { backendQuota: { mode: "Fixed", size: "1Gi" } } }, { backup: sized(GIB + 1) }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.etcd.backendQuota is Fixed 1Gi: the database may have 1073741824 bytes, and the snapshot has 1073741825" },
  { name: "refuses an EtcdBackup that is larger than the quota for a small volume", given: asking({ storage: { size: "1Gi", accessModes: ["ReadWriteOnce"] } }, { backup: sized(GIB / 2) }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.etcd.backendQuota is not set: the database may have 268435456 bytes" },
  { name: "refuses a snapshot larger than the quota that the status records", given: restore({ stage: "claims", spec: BY_URL, status: { ...STARTED, snapshot: { key: "k", bytes: 3 * GIB, sha256: "ab", revision: "1", hasManifest: false } } }), expect: "warn: restore-failed", because: "the snapshot has 3221225472" },
  { name: "accepts an EtcdBackup when the volumes are larger than requested, and so the quota", given: roomy("4Gi"), expect: "hold-restore: holdRestore" },
  { name: "refuses an EtcdBackup when one volume has too little room for it", given: roomy("1Gi"), expect: "warn: restore-failed", because: "the database may have 268435456 bytes" },
  { name: "refuses a snapshot larger than the quota as soon as it is fetched", given: withMember(restore({ spec: BY_URL }), 1, { filling: { job, pods: [restorePod(job, "Pending", [ended(0, broughtWith({ bytes: 3 * GIB, hasManifest: false })), { running: {} }])] } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.etcd.backendQuota is not set: the database may have 2147483648 bytes, and the snapshot has 3221225472" },
  { name: "refuses a snapshot of a later release that the status records", given: restore({ stage: "claims", spec: BY_URL, status: { ...STARTED, snapshot: { key: "k", bytes: 1, sha256: "ab", revision: "1", hasManifest: false, etcdVersion: "3.7.0" } } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.version is 3.6.16, and the snapshot is of etcd 3.7.0" },
  { name: "accepts a snapshot of any release once all claims have their identity", given: identified(3, { status: { ...STARTED, snapshot: { key: "k", bytes: 1, sha256: "ab", revision: "1", hasManifest: false, etcdVersion: "3.7.0" } } }), expect: "create-cluster: createCluster restored" },
  { name: "annotates no claim with its identity while a cluster of the name is being created", given: restore({ stage: "filled", with: { cluster: { ...live, status: {} } } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "accepts a fetched snapshot of the same minor release", given: restore({ stage: "filled", spec: BY_URL }), expect: "identify-claims: identifyClaim restored-0" },
  { name: "fails when claims were filled with different snapshots", given: withMember(restore({ stage: "filled", spec: BY_URL }), 2, { filling: succeeded(job, broughtWith({ sha256: "cd" })) }), expect: "warn: restore-failed", because: "SnapshotCorrupt: the object has changed while it was read: the SHA-256 is ab for restored-0, and cd for restored-2" },
  { name: "accepts a different snapshot that was fetched and has not filled a claim yet", given: withMember(restore({ stage: "filled", spec: BY_URL }), 1, { filling: { job, pods: [restorePod(job, "Pending", [ended(0, broughtWith({ sha256: "cd" })), { running: {} }])] } }), expect: "wait: await-claims" },
  { name: "fails when an earlier attempt filled a claim with a different snapshot", given: withMember(restore({ stage: "filled", spec: BY_URL }), 2, { filling: succeeded(job, undefined, lying("cd")) }), expect: "warn: restore-failed", because: "SnapshotCorrupt: the object has changed while it was read: the SHA-256 is ab for restored-0, and cd for restored-2" },
  { name: "accepts a claim that an earlier attempt filled with the same snapshot", given: withMember(restore({ stage: "filled", spec: BY_URL }), 2, { filling: succeeded(job, broughtWith({ sha256: "cd" }), lying("ab")) }), expect: "identify-claims: identifyClaim restored-0" },
  { name: "waits for the report of the pod that filled a claim", given: unseen, expect: "wait: await-claims", because: "3 of 3 claims are filled" },
  { name: "fails when the report of a pod is lost, since the claims may differ", given: later(unseen, MINUTE), expect: "warn: restore-failed", because: "AgentFailed: the pod that filled claim restored-1 is gone without a report, so it may have read another object than the others" },
  { name: "needs no report where the EtcdBackup has a checksum", given: begin(restore({ stage: "filled" })).apply(mute).apply(later, MINUTE).snapshot, expect: "identify-claims: identifyClaim restored-0" },
  { name: "needs the report when the EtcdBackup was replaced", given: begin(restore({ stage: "filled", with: { backup: born(sourceBackup()) } })).apply(mute).apply(later, MINUTE).snapshot, expect: "warn: restore-failed", because: "AgentFailed" },
  { name: "needs the report when the EtcdBackup was created in the same second as the Job", given: begin(restore({ stage: "filled", with: { backup: born(sourceBackup(), jobMadeAt) } })).apply(mute).apply(later, MINUTE).snapshot, expect: "warn: restore-failed", because: "AgentFailed" },
  { name: "needs the report when the EtcdBackup has no checksum", given: begin(restore({ stage: "filled", with: { backup: sourceBackup({ object: undefined }) } })).apply(mute).apply(later, MINUTE).snapshot, expect: "warn: restore-failed", because: "AgentFailed" },
  { name: "needs no report with a single claim", given: begin(restore({ stage: "filled", spec: { ...BY_URL, clusterTemplate: { clusterName: "restored", spec: { replicas: 1, version: "3.6.16", tls: NO_TLS } } } })).apply(mute, 0).apply(later, MINUTE).snapshot, expect: "identify-claims: identifyClaim restored-0" },
  { name: "accepts an earlier minor release", given: restore({ stage: "claims", with: { backup: sourceBackup({ object: { ...sourceBackup().status!.object!, etcdVersion: "3.5.1" } }) } }), expect: "fill-claim: createJob 0" },
  { name: "waits until the source claim is labelled", given: restore({ stage: "new", spec: ON_VOLUME, with: { sourceClaim: destinationClaim({}) } }), expect: "warn: await-source", because: `kubectl label persistentvolumeclaim backups ${BACKUP_DESTINATION_LABEL}=true` },
  { name: "waits for a source claim that does not exist", given: restore({ stage: "new", spec: ON_VOLUME, with: { sourceClaim: undefined } }), expect: "warn: await-source", because: "the object is on claim backups, which this namespace does not have" },
  { name: "ignores the label of the source claim once the Jobs exist", given: restore({ spec: ON_VOLUME, with: { sourceClaim: undefined } }), expect: "wait: await-claims", because: "0 of 3 claims are filled" },
  { name: "refuses an invalid URL", given: restore({ stage: "new", spec: { source: { object: { url: { url: "ftp://x" } } } } }), expect: "warn: restore-failed", because: "SpecRefused: spec.source.object.url.url: the object URL has the scheme" },
  { name: "refuses an invalid NetworkPolicy before it creates anything", given: asking({ networkPolicy: MISSPELT }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.networkPolicy.clients.from[0].podSelector.matchlabels: this field is unknown; it must be matchLabels or matchExpressions" },
  { name: "refuses an invalid NetworkPolicy also while the EtcdBackup is running", given: asking({ networkPolicy: MISSPELT }, { backup: sourceBackup({ phase: "Running" }) }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.networkPolicy.clients.from[0]" },
  { name: "refuses authentication without client certificates before it creates anything", given: asking({ auth: { enabled: true }, tls: NO_TLS }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.auth.enabled is true, which needs spec.tls.client" },
  { name: "accepts authentication with client certificates", given: asking({ auth: { enabled: true }, tls: DEFAULT_TLS }), expect: "hold-restore: holdRestore" },
  { name: "accepts authentication in a new cluster that gets TLS", given: asking({ auth: { enabled: true }, tls: undefined }), expect: "hold-restore: holdRestore" },
  { name: "refuses invalid flags and reserved fields of the pod template", given: asking({ etcd: { extraArgs: { "no-such-flag": "1" } }, podTemplate: { spec: { restartPolicy: "Never" } } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.etcd.extraArgs: " },
  { name: "accepts a spec with the maximum of characters", given: askingLong(SPEC_LIMIT.characters), expect: "hold-restore: holdRestore" },
  { name: "refuses a spec with one character more", given: askingLong(SPEC_LIMIT.characters + 1), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec has 131073 characters and " },
  { name: "accepts a spec with the maximum of values", given: askingMany(SPEC_LIMIT.values), expect: "hold-restore: holdRestore" },
  { name: "refuses a spec with one value more", given: askingMany(SPEC_LIMIT.values + 1), expect: "warn: restore-failed", because: " characters and 5001 values; it may have at most 131072 and 5000" },
  { name: "reports all problems of a spec", given: asking({ etcd: { extraArgs: { "no-such-flag": "1" } }, podTemplate: { spec: { restartPolicy: "Never" } } }), expect: "warn: restore-failed", because: "; spec.clusterTemplate.spec.podTemplate.spec.restartPolicy" },
  { name: "continues with existing Jobs, although the spec is refused", given: asking({ networkPolicy: MISSPELT }, {}, "running"), expect: "wait: await-claims" },
  { name: "fails when the EtcdBackup is deleted before all Jobs exist", given: withMember(restore({ with: { backup: undefined } }), 1, { filling: undefined }), expect: "warn: restore-failed", because: "BackupNotFound: spec.source.backupName is nightly, and this namespace has no such EtcdBackup" },
  { name: "continues when the EtcdBackup is deleted after all Jobs were created", given: restore({ with: { backup: undefined } }), expect: "wait: await-claims" },
  { name: "needs no Jobs once the claims have their identity", given: clearedJobs(identified(3)), expect: "create-cluster: createCluster restored" },
  { name: "needs no EtcdBackup once the claims have their identity", given: clearedJobs(identified(3, { with: { backup: undefined } })), expect: "create-cluster: createCluster restored" },
  { name: "needs no finalizer once the claims have their identity", given: restore({ stage: "told", held: false }), expect: "create-cluster: createCluster restored" },
  { name: "needs no agent image once the claims have their identity", given: restore({ stage: "told", with: { agentImage: undefined } }), expect: "create-cluster: createCluster restored" },
  { name: "ignores foreign claims of later ordinals once the claims have their identity", given: restore({ stage: "told", with: { otherClaims: [foreignClaim("restored-4")] } }), expect: "create-cluster: createCluster restored" },
  { name: "needs no claim that the cluster has taken and lost", given: withMember(restore({ stage: "forming" }), 2, { claim: undefined, filling: undefined }), expect: "wait: await-cluster" },
  { name: "annotates the remaining claims after a failure when one has its identity", given: identified(1, { status: FAILED_NOW }), expect: "identify-claims: identifyClaim restored-1" },
  { name: "annotates the last claim of a failed restore that is being deleted and has no finalizer", given: identified(2, { status: FAILED, held: false, deleting: true }), expect: "identify-claims: identifyClaim restored-2" },
  { name: "removes the finalizer of a failed restore when its claims have their identity", given: identified(3, { status: FAILED_NOW }), expect: "release-restore: releaseRestore" },
  { name: "annotates no claim of a completed restore", given: identified(2, { status: COMPLETED }), expect: "release-restore: releaseRestore" },
  { name: "does not annotate a claim again that the cluster has taken", given: withMember(restore({ stage: "ready" }), 1, { claim: claimAt(running, "restored-1") }), expect: "wait: restore-completed" },
  { name: "keeps claims that have lost their identity after a cluster may have used them", given: restore({ stage: "claims", status: { ...FAILED, begun: true } }), expect: "release-restore: releaseRestore" },
  { name: "keeps claims that a cluster may have used when the EtcdRestore is deleted before it fails", given: restore({ stage: "claims", status: { ...STARTED, begun: true }, deleting: true }), expect: "release-restore: releaseRestore" },
  { name: "keeps claims that a cluster may have used when a completed EtcdRestore is deleted", given: restore({ stage: "claims", status: COMPLETED, deleting: true }), expect: "release-restore: releaseRestore" },
  { name: "fails when claims that a cluster may have used have lost their identity", given: restore({ stage: "filled", status: { ...STARTED, begun: true } }), expect: "warn: restore-failed", because: "ClaimLost: the claims were filled and have lost their identity annotations; a cluster may have used them, so they are kept" },
  { name: "annotates a claim again that lost its identity before the cluster took it", given: withMember(restore({ stage: "forming" }), 1, { claim: claimAt(running, "restored-1") }), expect: "identify-claims: identifyClaim restored-1" },
  { name: "deletes no claim that the cluster has taken", given: restore({ deleting: true, with: { cluster: clusterOf(running, true) } }), expect: "release-restore: releaseRestore" },
  { name: "waits for a cluster that a user created from the claims", given: identified(3, { with: { cluster: { ...live, status: {} } } }), expect: "wait: await-cluster", because: "EtcdCluster restored is not Ready yet: its status has no condition Ready" },
  { name: "annotates the remaining claims although a user has created the cluster", given: identified(1, { with: { cluster: { ...live, status: {} } } }), expect: "identify-claims: identifyClaim restored-1" },
  { name: "fails when the cluster has taken the claims and lost them", given: restore({ stage: "new", held: true, with: { cluster: clusterOf(running, true) } }), expect: "warn: restore-failed", because: "ClaimLost: EtcdCluster restored began with the claims of this restore, and all of these claims are gone" },
  { name: "fails when claims have lost their identity after the cluster was created", given: restore({ stage: "claims", with: { cluster: clusterOf(running) } }), expect: "warn: restore-failed", because: "ClaimLost: EtcdCluster restored began" },
  { name: "annotates no claim when the EtcdRestore is deleted before the first has its identity", given: restore({ stage: "filled", deleting: true }), expect: "delete-claims: deleteClaim restored-0" },
  { name: "fails when a foreign claim has replaced one of its claims", given: withMember(identified(2), 2, { claim: foreignClaim("restored-2") }), expect: "warn: restore-failed", because: "ClaimLost: claim restored-2 is no longer this restore's, before its cluster existed" },
  { name: "does not delete a Job of a completed restore that is already being deleted", given: deletedJobs(restore({ stage: "ready", status: COMPLETED, held: false })), expect: "settled" },
  { name: "deletes the Jobs of a completed restore at once", given: restore({ stage: "ready", status: { ...COMPLETED, completionTime: "2026-01-01T12:00:00Z" }, held: false }), expect: "clear-jobs: deleteJob 0" },
  { name: "deletes the Jobs of a completed restore that is being deleted", given: restore({ stage: "ready", status: COMPLETED, held: false, deleting: true }), expect: "clear-jobs: deleteJob 0" },
  { name: "reports foreign claims before a missing source", given: deletedClaims({ ...foreignClaims(), backup: undefined }), expect: "warn: await-place" },
  { name: "reports a missing source before a missing agent image", given: restore({ stage: "new", with: { backup: undefined, agentImage: undefined } }), expect: "warn: await-source" },
  { name: "ignores a foreign Job, although it succeeded", given: withMember(restore({ stage: "filled" }), 0, { filling: { ...restore({ stage: "filled" }).members[0]!.filling!, job: theirs(restore({ stage: "filled" }).members[0]!.filling!.job) } }), expect: "warn: await-place" },
  { name: "warns of an image that cannot be pulled", given: withMember(running, 1, { filling: { job, pods: [restorePod(job, "Pending", [{ waiting: { reason: "ErrImagePull" } }])] } }), expect: "warn: await-claims" },
  { name: "refuses claims with the identity of another cluster", given: withMember(restore({ stage: "new" }), 0, { claim: { ...claimAt(running, "restored-0", true), metadata: { ...claimAt(running, "restored-0", true).metadata, labels: {} } } }), expect: "warn: restore-failed", because: "ClaimExists" },
  { name: "ignores the uid of the cluster that asked for the restore when its name differs", given: restore({ stage: "new", askedBy: "uid-of-restored", spec: { clusterTemplate: { clusterName: "other", spec: { replicas: 1, version: "3.6.16" } } }, with: { cluster: { ...live, status: {} } } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "accepts a snapshot of an unknown etcd release", given: restore({ stage: "claims", with: { backup: sourceBackup({ object: { ...sourceBackup().status!.object!, etcdVersion: "main" } }) } }), expect: "fill-claim: createJob 0" },
  { name: "continues without its source claim when one Job exists", given: withMember(restore({ stage: "claims", spec: ON_VOLUME, with: { sourceClaim: undefined } }), 0, { filling: restore({ spec: ON_VOLUME }).members[0]!.filling }), expect: "fill-claim: createJob 1" },
  { name: "fails when one of its claims is being deleted while Jobs run", given: goingClaim(running), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted, before the restore was complete" },
  { name: "fails when a claim without a Job is being deleted", given: goingClaim(restore({ stage: "claims" })), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted" },
  { name: "fails when a filled claim is being deleted", given: goingClaim(restore({ stage: "filled" })), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted" },
  { name: "fails when a filled claim is gone", given: withMember(restore({ stage: "filled" }), 1, { claim: undefined }), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is gone" },
  { name: "deletes the other filled claims when one is lost", given: withMember(restore({ stage: "filled", status: FAILED }), 1, { claim: undefined }), expect: "delete-claims: deleteClaim restored-0" },
  { name: "annotates the remaining claims when a claim is lost after the first has its identity", given: goingClaim(identified(1)), expect: "identify-claims: identifyClaim restored-2" },
  { name: "creates no cluster when a claim is being deleted", given: goingClaim(identified(3)), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted, before its cluster existed" },
  { name: "fails when a claim is being deleted before the cluster has taken it", given: goingClaim(restore({ stage: "forming" })), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted, before its cluster has taken it" },
  { name: "ignores the deletion of claims that the cluster has taken", given: goingClaim(restore({ stage: "ready" })), expect: "wait: restore-completed" },
  { name: "waits until the operator knows the agent's image", given: restore({ stage: "new", with: { agentImage: undefined } }), expect: "warn: await-image", because: "--agent-image" },
]; // biome-ignore format: a table

/** The restore has this status; all Jobs but one have succeeded. */
function restoreOf(
  snapshot: RestoreSnapshot,
  status: RestoreSnapshot["restore"]["status"] & object,
  but: number,
): RestoreSnapshot {
  const members = snapshot.members.map((each) =>
    each.ordinal === but ? each : { ...each, filling: succeeded(each.filling!.job) },
  );
  return { ...snapshot, members, restore: { ...snapshot.restore, status } };
}

/** The second claim is being deleted. */
function goingClaim(snapshot: RestoreSnapshot): RestoreSnapshot {
  const { claim } = snapshot.members[1]!;
  const metadata = { ...claim!.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" };
  return withMember(snapshot, 1, { claim: { ...claim!, metadata } });
}

/** Every member's claim is foreign. */
function foreignClaims(): RestoreSnapshot {
  const snapshot = restore({ stage: "new" });
  return { ...snapshot, members: snapshot.members.map((each) => ({ ...each, claim: foreignClaim(each.name) })) };
}

function deletedJobs(snapshot: RestoreSnapshot): RestoreSnapshot {
  const members = snapshot.members.map((each) => {
    const { job: its, pods } = each.filling!;
    const going = { ...its, metadata: { ...its.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
    return { ...each, filling: { job: going, pods } };
  });
  return { ...snapshot, members };
}

function clearedJobs(snapshot: RestoreSnapshot): RestoreSnapshot {
  return { ...snapshot, members: snapshot.members.map((each) => ({ ...each, filling: undefined })) };
}

function deletedClaims(snapshot: RestoreSnapshot): RestoreSnapshot {
  const members = snapshot.members.map((each) => ({
    ...each,
    claim: { ...each.claim!, metadata: { ...each.claim!.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } },
  }));
  return { ...snapshot, members };
}

for (const { name, given, expect: wanted, because } of cases) {
  test(`restore plan: ${name}`, () => {
    const plan = planRestore(given);
    expect(planText(plan, stepText)).toBe(wanted);
    if (because !== undefined && plan.next !== "settled")
      expect(plan.because).toEqual(
        typeof because === "string" ? expect.stringContaining(because) : expect.stringMatching(because),
      );
  });
}

test("restore plan: a failed restore is rechecked once, when its logs expire", () => {
  const at = (leftMs: number) =>
    begin(restore({ stage: "told", held: false, status: FAILED_NOW }))
      .apply(clearedJobs)
      .apply(later, 5 * MINUTE - leftMs).snapshot;
  expect(planRestore(at(1))).toEqual({ next: "settled", recheckAfterMs: 1 });
  expect(planRestore(at(2))).toEqual({ next: "settled", recheckAfterMs: 2 });
  expect(planRestore(at(0))).toEqual({ next: "settled" });
  expect(planRestore(at(-1))).toEqual({ next: "settled" });
});

test("restore plan: a restore that is being deleted is not rechecked for its logs", () => {
  const going = restore({ stage: "told", held: false, deleting: true, status: FAILED_NOW });
  expect(planRestore(clearedJobs(going))).toEqual({ next: "settled" });
});

test("restore plan: existing claims are filled while the creation of another is refused", () => {
  const given = withMember(restore({ stage: "claims" }), 0, { claim: undefined });
  const refused = (rule: string) =>
    rule === "create-claim" ? { because: "quota", forMs: 1_000, isBrief: false } : undefined;
  expect(planText(planRestore(given, refused), stepText)).toBe("fill-claim: createJob 1");
});

test("restore plan: a given-up restore stays while one of its claims or Jobs cannot be deleted", () => {
  const refused = () => ({ because: "no", forMs: 1_000, isBrief: false });
  expect(planText(planRestore(restore({ stage: "claims", deleting: true }), refused), stepText)).toBe(
    "wait: delete-claims",
  );
  expect(planText(planRestore(restore({ deleting: true }), refused), stepText)).toBe("wait: stop-jobs");
});

test("restore plan: every rule decides a case", () => {
  const spoken = new Set(
    cases.flatMap(({ given }) => {
      const plan = planRestore(given);
      if (plan.next !== "settled") return [plan.rule];
      return [RESTORE_RULES.find((rule) => rule.decide(given)?.next === "settled")?.name];
    }),
  );
  expect(RESTORE_RULES.map(({ name }) => name).filter((name) => !spoken.has(name))).toEqual([]);
});
