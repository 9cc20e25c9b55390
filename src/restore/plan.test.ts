import { expect, test } from "vitest";
import { type AgentReport, failure } from "#agent/report.ts";
import { BACKUP_DESTINATION_LABEL } from "#api/names.ts";
import { NO_TLS } from "#api/tls.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { destinationClaim } from "#kit/etcd-backup.ts";
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
} from "#kit/etcd-restore.ts";
import { planText } from "#kit/plan-text.ts";
import type { Job } from "#kube/kinds.ts";
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
const ARCHIVE = { archive: { keepForSeconds: 3_600 } };
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

/** What the verification of the backup says. */
function verdict(status: "True" | "False", reason: string) {
  return { type: "Verified", status, reason, message: "a key differs" };
}

/** The backup as somebody has deleted it, held by its finalizer. */
function going(backup: EtcdBackup): EtcdBackup {
  return { ...backup, metadata: { ...backup.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
}

const MISSPELT = { enabled: true, clients: [{ podSelector: { matchlabels: {} } }] };

/** The cluster is asked for with this. */
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

/** The second claim could not be filled. */
function failing(states?: Parameters<typeof failed>[1]): RestoreSnapshot {
  return withMember(running, 1, { filling: failed(job, states) });
}

/** What the last attempt has found in its place. */
function lying(sha256: string): AgentReport {
  return { ...FINISHED, moved: false, sha256 };
}

/** All claims are filled, and of the pod that has filled this one nothing is to be seen. */
function mute(snapshot: RestoreSnapshot, ordinal = 1): RestoreSnapshot {
  return withMember(snapshot, ordinal, { filling: { ...snapshot.members[ordinal]!.filling!, pods: [] } });
}

/** The EtcdBackup, made after the Jobs were; or in the same second, which may have been after them. */
function born(backup: EtcdBackup, creationTimestamp = "2026-01-01T11:59:55Z"): EtcdBackup {
  return { ...backup, metadata: { ...backup.metadata, creationTimestamp } };
}

const jobMadeAt = restore({ stage: "filled" }).members[1]!.filling!.job.metadata.creationTimestamp!;

/** The cache does not show yet who has filled the second claim. */
const unseen = mute(restore({ stage: "filled", spec: BY_URL }));

function theirs(of: Job): Job {
  return { ...of, metadata: { ...of.metadata, ownerReferences: [] } };
}

/** So many claims say whose data they hold. */
function told(count: number, given: Parameters<typeof restore>[0] = {}): RestoreSnapshot {
  let snapshot = restore({ stage: "filled", ...given });
  for (let n = 0; n < count; n++)
    snapshot = withMember(snapshot, n, { claim: claimAt(snapshot, `restored-${n}`, true) });
  return snapshot;
}

const cases: { name: string; given: RestoreSnapshot; expect: string; because?: string | RegExp }[] = [
  { name: "is held before anything is made", given: restore({ stage: "new" }), expect: "hold-restore: holdRestore" },
  { name: "then makes claims", given: restore({ stage: "new", held: true }), expect: "create-claim: createClaim restored-0", because: "restored to claims, of which restored-0 is one" },
  { name: "makes the claims that are missing", given: withMember(restore({ stage: "claims" }), 2, { claim: undefined }), expect: "create-claim: createClaim restored-2" },
  { name: "then Jobs", given: restore({ stage: "claims" }), expect: "fill-claim: createJob 0", because: "claim restored-0 is filled with the snapshot s3://backups/foo/my-etcd/u/nightly.db" },
  { name: "of an object by its URL", given: restore({ stage: "claims", spec: BY_URL }), expect: "fill-claim: createJob 0", because: "s3://bucket/k.db?region=eu-1" },
  { name: "of an object on a claim that is meant for it", given: restore({ stage: "claims", spec: ON_VOLUME }), expect: "fill-claim: createJob 0", because: "volume://backups/nightly/k.db" },
  { name: "all side by side", given: withMember(restore(), 1, { filling: undefined }), expect: "fill-claim: createJob 1" },
  { name: "waits while they are at work", given: running, expect: "wait: await-claims", because: "0 of 3 claims are filled" },
  { name: "waits for pods", given: restore({ stage: "made" }), expect: "wait: await-claims", because: /^the pod of Job restore-.*-0 is not made yet$/ },
  { name: "waits for a volume", given: restore({ stage: "starting" }), expect: "wait: await-claims", because: /container finish waits: PodInitializing$/ },
  { name: "warns of a quota", given: restore({ stage: "made", with: { warnings: ["exceeded quota: q"] } }), expect: "warn: await-claims", because: "cannot be made: exceeded quota: q" },
  { name: "warns of a Secret that is not there", given: restore({ stage: "starting", with: { warnings: ['MountVolume.SetUp failed: secret "s3" not found'] } }), expect: "warn: await-claims", because: /of s3: MountVolume/ },
  { name: "gives up pods that do not start in ten minutes", given: later(restore({ stage: "starting" }), 10 * MINUTE), expect: "warn: restore-failed", because: /^PodPending: .*; it was waited for 10 minutes$/ },
  { name: "warns of an attempt that failed", given: withMember(running, 1, { filling: { job, pods: [restorePod(job, "Failed", [ended(1, failure("StoreUnreachable", "no route"))])] } }), expect: "warn: await-claims", because: "another one follows: StoreUnreachable: no route" },
  { name: "says that it has failed", given: failing(), expect: "warn: restore-failed", because: "BadKey: the object is encrypted with the key 01234567" },
  { name: "says what etcdutl said", given: failing([ended(0), ended(1, "Error: expected sha256")]), expect: "warn: restore-failed", because: "RestoreToolFailed: Error: expected sha256" },
  { name: "tells the claims when all are filled", given: restore({ stage: "filled" }), expect: "tell-claims: tellClaim restored-0" },
  { name: "and not before", given: withMember(restore({ stage: "filled" }), 2, { filling: running.members[2]!.filling }), expect: "wait: await-claims", because: "2 of 3 claims are filled" },
  { name: "one after another", given: told(1), expect: "tell-claims: tellClaim restored-1" },
  { name: "to the end, although a Job is gone", given: withMember(told(2), 2, { filling: undefined }), expect: "tell-claims: tellClaim restored-2" },
  { name: "to the end, although it is being deleted", given: told(2, { deleting: true }), expect: "tell-claims: tellClaim restored-2" },
  { name: "then makes the cluster", given: restore({ stage: "told" }), expect: "create-cluster: createCluster restored" },
  { name: "unless it is there and has asked for it", given: restore({ stage: "told", askedBy: "uid-of-restored", with: { cluster: { ...clusterOf(running), status: {} } } }), expect: "wait: await-cluster" },
  { name: "makes none in its place", given: restore({ stage: "told", askedBy: "uid-of-restored" }), expect: "wait: await-cluster" },
  { name: "waits for the cluster", given: restore({ stage: "forming" }), expect: "wait: await-cluster", because: "EtcdCluster restored is not Ready yet: nothing is known of it yet" },
  { name: "waits for its revision", given: restore({ stage: "ready", with: { read: { is: "present", value: 11n } } }), expect: "wait: await-cluster", because: "is at revision 11, and must be at 1000000012 at least" },
  { name: "waits until it can be read", given: restore({ stage: "ready", with: { read: { is: "unknown", why: "no" } } }), expect: "wait: await-cluster", because: "its revision is not known: no" },
  { name: "says that it is completed", given: restore({ stage: "ready" }), expect: "wait: restore-completed", because: "EtcdCluster restored is Ready, at revision 1000000012" },
  { name: "lets go what is completed", given: restore({ stage: "ready", status: COMPLETED }), expect: "release-restore: releaseRestore" },
  { name: "clears the Jobs of what is completed", given: restore({ stage: "ready", status: COMPLETED, held: false }), expect: "clear-jobs: deleteJob 0" },
  { name: "leaves alone what is completed", given: clearedJobs(restore({ stage: "ready", status: COMPLETED, held: false })), expect: "settled" },
  { name: "leaves the logs of what has failed", given: later(restore({ stage: "told", held: false, status: FAILED_NOW }), 5 * MINUTE - 1), expect: "settled" },
  { name: "clears them in the end", given: later(restoreOf(restore({ stage: "told", held: false }), FAILED_NOW, 3), 5 * MINUTE), expect: "clear-jobs: deleteJob 0" },
  { name: "waits for claims that are going", given: deletedClaims(withMember(foreignClaims(), 0, { claim: foreignClaim("restored-0") })), expect: "warn: await-place", because: "is being deleted; a pod may still use it" },
  { name: "refuses one that stays beside them", given: withMember(deletedClaims(foreignClaims()), 1, { claim: foreignClaim("restored-1") }), expect: "warn: restore-failed", because: "ClaimExists: claim restored-1 exists already" },
  { name: "leaves alone what is completed, although its claims are gone", given: restore({ stage: "new", status: COMPLETED }), expect: "settled" },
  { name: "ends the Jobs of what was given up", given: restore({ status: FAILED }), expect: "stop-jobs: deleteJob 0" },
  { name: "ends a Job once", given: { ...restore({ status: FAILED }), members: restore({ status: FAILED }).members.map((each) => ({ ...each, filling: { ...each.filling!, job: { ...each.filling!.job, metadata: { ...each.filling!.job.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } } } })) }, expect: "delete-claims: deleteClaim restored-0" },
  { name: "leaves the Job that has failed, with its log, and deletes the claims", given: restoreOf(failing(), FAILED, 1), expect: "delete-claims: deleteClaim restored-0" },
  { name: "deletes a claim once", given: deletedClaims(restore({ stage: "claims", status: FAILED })), expect: "release-restore: releaseRestore" },
  { name: "then it is over", given: restore({ stage: "new", status: FAILED }), expect: "settled" },
  { name: "never deletes a claim that says whose data it holds", given: restore({ stage: "told", status: FAILED }), expect: "release-restore: releaseRestore" },
  { name: "never deletes somebody else's", given: withMember(restore({ stage: "new", held: true, status: FAILED }), 0, { claim: foreignClaim("restored-0", "old") }), expect: "release-restore: releaseRestore" },
  { name: "who deletes it has its Jobs ended", given: restore({ deleting: true }), expect: "stop-jobs: deleteJob 0" },
  { name: "and its claims deleted", given: restore({ stage: "claims", deleting: true }), expect: "delete-claims: deleteClaim restored-0" },
  { name: "and then it goes", given: restore({ stage: "new", held: true, deleting: true }), expect: "release-restore: releaseRestore" },
  { name: "with the claims that are whole left behind", given: restore({ stage: "told", deleting: true }), expect: "release-restore: releaseRestore" },
  { name: "makes nothing for what is being deleted", given: restore({ stage: "new", deleting: true }), expect: "settled" },
  { name: "makes no cluster for it either", given: restore({ stage: "told", deleting: true, held: false }), expect: "settled" },
  { name: "refuses a cluster that is there", given: restore({ stage: "new", with: { cluster: live } }), expect: "warn: restore-failed", because: "ClusterExists: EtcdCluster restored exists already, which is etcd cluster b0b" },
  { name: "refuses one that is being made", given: restore({ stage: "new", with: { cluster: { ...live, status: {} } } }), expect: "warn: restore-failed", because: "ClusterExists: EtcdCluster restored exists already, which is being made" },
  { name: "refuses one that has taken its claims by now", given: restore({ stage: "told", with: { cluster: live } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "takes the one that has asked for it", given: restore({ stage: "new", askedBy: "uid-of-restored", with: { cluster: { ...live, status: {} } } }), expect: "hold-restore: holdRestore" },
  { name: "unless that has data", given: restore({ stage: "new", askedBy: "uid-of-restored", with: { cluster: live } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "or another one has asked", given: restore({ stage: "new", askedBy: "another", with: { cluster: { ...live, status: {} } } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "refuses claims that are there", given: withMember(restore({ stage: "new" }), 1, { claim: foreignClaim("restored-1") }), expect: "warn: restore-failed", because: /^ClaimExists: claim restored-1 exists already, and is never overwritten/ },
  { name: "refuses claims of an earlier EtcdRestore of its name", given: withMember(restore({ stage: "new" }), 0, { claim: foreignClaim("restored-0", "old") }), expect: "warn: restore-failed", because: "made by the EtcdRestore with uid old" },
  { name: "refuses claims that its cluster would find", given: restore({ stage: "new", with: { otherClaims: [foreignClaim("restored-4")] } }), expect: "warn: restore-failed", because: "claim restored-4 exists already" },
  { name: "does not ask for claims once a cluster may have made some", given: restore({ stage: "ready", with: { otherClaims: [foreignClaim("restored-4")] } }), expect: "wait: restore-completed" },
  { name: "warns of a Job of its name", given: withMember(running, 0, { filling: { job: theirs(job), pods: [] } }), expect: "warn: await-place", because: "exists already: nobody manages it" },
  { name: "says that a claim was lost in the middle", given: withMember(running, 2, { claim: undefined }), expect: "warn: restore-failed", because: "ClaimLost: claim restored-2 is gone, in the middle of the restore" },
  { name: "says that a claim was lost before the cluster was there", given: withMember(restore({ stage: "told" }), 2, { claim: undefined }), expect: "warn: restore-failed", because: "ClaimLost: claim restored-2 is gone, before its cluster was there" },
  { name: "waits for an EtcdBackup", given: restore({ stage: "new", with: { backup: sourceBackup({ phase: "BackingUp" }) } }), expect: "wait: await-source", because: "EtcdBackup nightly is still under way" },
  { name: "however long it takes", given: later(restore({ stage: "new", status: STARTED, with: { backup: sourceBackup({ phase: "BackingUp" }) } }), 100 * MINUTE), expect: "wait: await-source" },
  { name: "waits for one that is not there", given: restore({ stage: "new", with: { backup: undefined } }), expect: "warn: await-source", because: "there is no EtcdBackup nightly in this namespace" },
  { name: "though not for ever", given: later(restore({ stage: "new", status: STARTED, with: { backup: undefined } }), 10 * MINUTE), expect: "warn: restore-failed", because: /^BackupNotFound: .*; it was waited for 10 minutes$/ },
  { name: "refuses the EtcdBackup of an archive, which holds no snapshot and is never done", given: restore({ stage: "new", with: { backup: sourceBackup({ phase: "BackingUp" }, ARCHIVE) } }), expect: "warn: restore-failed", because: "SpecRefused: spec.source.backupName is nightly, which archives changes and holds no snapshot; it must be an EtcdBackup of the same cluster and place that is Completed" },
  { name: "so it is when that has failed", given: restore({ stage: "new", with: { backup: sourceBackup({ phase: "Failed" }, ARCHIVE) } }), expect: "warn: restore-failed", because: "spec.until" },
  { name: "refuses one that has failed", given: restore({ stage: "new", with: { backup: sourceBackup({ phase: "Failed" }) } }), expect: "warn: restore-failed", because: "BackupFailed: EtcdBackup nightly has failed: its status does not say why" },
  { name: "refuses one whose data is known to be wrong, and says how to have it all the same", given: restore({ stage: "new", with: { backup: sourceBackup({ objectURL: "s3://b/k", conditions: [verdict("False", "VerificationFailed")] }) } }), expect: "warn: restore-failed", because: "BackupFailed: its verification found the data of EtcdBackup nightly wrong: VerificationFailed: a key differs; who wants it all the same names its object in spec.source.object (s3://b/k)" },
  { name: "takes one whose verification could not be made", given: restore({ stage: "new", with: { backup: sourceBackup({ conditions: [verdict("False", "PodPending")] }) } }), expect: "hold-restore: holdRestore" },
  { name: "takes one that is whole", given: restore({ stage: "new", with: { backup: sourceBackup({ conditions: [verdict("True", "Verified")] }) } }), expect: "hold-restore: holdRestore" },
  { name: "waits for one that is being deleted as for one that is gone", given: restore({ stage: "new", with: { backup: going(sourceBackup()) } }), expect: "warn: await-source", because: "EtcdBackup nightly is being deleted, and its object may go with it" },
  { name: "goes on with what it has begun to read", given: restore({ with: { backup: going(sourceBackup({ conditions: [verdict("False", "VerificationFailed")] })) } }), expect: "wait: await-claims" },
  { name: "refuses a snapshot of a later minor release", given: restore({ stage: "new", with: { backup: sourceBackup({ object: { ...sourceBackup().status!.object!, etcdVersion: "3.7.1" } }) } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.version is 3.6.16, and the snapshot is of etcd 3.7.1" },
  { name: "refuses one as soon as it is brought, whoever has stored it", given: withMember(restore({ spec: BY_URL }), 1, { filling: { job, pods: [restorePod(job, "Pending", [ended(0, broughtWith({ etcdVersion: "3.7.0", hasManifest: false })), { running: {} }])] } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.version is 3.6.16, and the snapshot is of etcd 3.7.0; it must be that minor release or a later one" },
  { name: "whatever etcdutl says of it", given: withMember(restore({ spec: BY_URL }), 1, { filling: failed(job, [ended(0, broughtWith({ etcdVersion: "4.0.0" })), ended(1, "Error: odd")]) }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.version is 3.6.16, and the snapshot is of etcd 4.0.0" },
  { name: "and when only the status remembers it", given: restore({ stage: "claims", spec: BY_URL, status: { ...STARTED, snapshot: { key: "k", bytes: 1, sha256: "ab", revision: "1", hasManifest: false, etcdVersion: "3.7.0" } } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.version is 3.6.16, and the snapshot is of etcd 3.7.0" },
  { name: "not when the data is complete", given: told(3, { status: { ...STARTED, snapshot: { key: "k", bytes: 1, sha256: "ab", revision: "1", hasManifest: false, etcdVersion: "3.7.0" } } }), expect: "create-cluster: createCluster restored" },
  { name: "tells no claim where a cluster is being made by then", given: restore({ stage: "filled", with: { cluster: { ...live, status: {} } } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "takes one of the same minor release that is brought", given: restore({ stage: "filled", spec: BY_URL }), expect: "tell-claims: tellClaim restored-0" },
  { name: "refuses claims that are filled with different snapshots", given: withMember(restore({ stage: "filled", spec: BY_URL }), 2, { filling: succeeded(job, broughtWith({ sha256: "cd" })) }), expect: "warn: restore-failed", because: "SnapshotCorrupt: the object has changed while it was read: the SHA-256 is ab for restored-0, and cd for restored-2" },
  { name: "but not one that was brought and has yet to be used", given: withMember(restore({ stage: "filled", spec: BY_URL }), 1, { filling: { job, pods: [restorePod(job, "Pending", [ended(0, broughtWith({ sha256: "cd" })), { running: {} }])] } }), expect: "wait: await-claims" },
  { name: "refuses one that lies in its place since an earlier attempt, whatever was fetched last", given: withMember(restore({ stage: "filled", spec: BY_URL }), 2, { filling: succeeded(job, undefined, lying("cd")) }), expect: "warn: restore-failed", because: "SnapshotCorrupt: the object has changed while it was read: the SHA-256 is ab for restored-0, and cd for restored-2" },
  { name: "takes it when it is the one of the others, whatever was fetched last", given: withMember(restore({ stage: "filled", spec: BY_URL }), 2, { filling: succeeded(job, broughtWith({ sha256: "cd" }), lying("ab")) }), expect: "tell-claims: tellClaim restored-0" },
  { name: "waits for the word of who has filled a claim", given: unseen, expect: "wait: await-claims", because: "3 of 3 claims are filled" },
  { name: "though not for ever: the pod may be gone, and then nobody knows whether all have the same", given: later(unseen, MINUTE), expect: "warn: restore-failed", because: "AgentFailed: the pod that has filled claim restored-1 is gone, and its report with it" },
  { name: "that need not be known where the EtcdBackup says what alone is taken", given: later(mute(restore({ stage: "filled" })), MINUTE), expect: "tell-claims: tellClaim restored-0" },
  { name: "unless that is another one than it was", given: later(mute(restore({ stage: "filled", with: { backup: born(sourceBackup()) } })), MINUTE), expect: "warn: restore-failed", because: "AgentFailed" },
  { name: "or may be: it was made in the second in which the Job was", given: later(mute(restore({ stage: "filled", with: { backup: born(sourceBackup(), jobMadeAt) } })), MINUTE), expect: "warn: restore-failed", because: "AgentFailed" },
  { name: "or does not say it", given: later(mute(restore({ stage: "filled", with: { backup: sourceBackup({ object: undefined }) } })), MINUTE), expect: "warn: restore-failed", because: "AgentFailed" },
  { name: "nor where there is one claim", given: later(mute(restore({ stage: "filled", spec: { ...BY_URL, clusterTemplate: { clusterName: "restored", spec: { replicas: 1, tls: NO_TLS } } } }), 0), MINUTE), expect: "tell-claims: tellClaim restored-0" },
  { name: "takes one of an earlier minor release", given: restore({ stage: "claims", with: { backup: sourceBackup({ object: { ...sourceBackup().status!.object!, etcdVersion: "3.5.1" } }) } }), expect: "fill-claim: createJob 0" },
  { name: "waits for a claim to consent", given: restore({ stage: "new", spec: ON_VOLUME, with: { sourceClaim: destinationClaim({}) } }), expect: "warn: await-source", because: `kubectl label persistentvolumeclaim backups ${BACKUP_DESTINATION_LABEL}=true` },
  { name: "waits for a claim that is not there", given: restore({ stage: "new", spec: ON_VOLUME, with: { sourceClaim: undefined } }), expect: "warn: await-source", because: "the object is on claim backups, which is not in this namespace" },
  { name: "asks no more when its Jobs are made", given: restore({ spec: ON_VOLUME, with: { sourceClaim: undefined } }), expect: "wait: await-claims", because: "0 of 3 claims are filled" },
  { name: "refuses what is no URL", given: restore({ stage: "new", spec: { source: { object: { url: { url: "ftp://x" } } } } }), expect: "warn: restore-failed", because: "SpecRefused: spec.source.object.url.url: the object URL has the scheme" },
  { name: "refuses a NetworkPolicy that nobody understands before anything is made", given: asking({ networkPolicy: MISSPELT }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.networkPolicy.clients[0].podSelector.matchlabels: nobody knows this field; it must be matchLabels or matchExpressions" },
  { name: "while the EtcdBackup is under way, too", given: asking({ networkPolicy: MISSPELT }, { backup: sourceBackup({ phase: "Running" }) }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.networkPolicy.clients[0]" },
  { name: "refuses flags that etcd does not take, and a template that is not for its author to write", given: asking({ etcd: { extraArgs: { "no-such-flag": "1" } }, podTemplate: { spec: { restartPolicy: "Never" } } }), expect: "warn: restore-failed", because: "SpecRefused: spec.clusterTemplate.spec.etcd.extraArgs: " },
  { name: "and says all of it", given: asking({ etcd: { extraArgs: { "no-such-flag": "1" } }, podTemplate: { spec: { restartPolicy: "Never" } } }), expect: "warn: restore-failed", because: "; spec.clusterTemplate.spec.podTemplate.spec.restartPolicy" },
  { name: "goes on with what it has begun, though that is refused", given: asking({ networkPolicy: MISSPELT }, {}, "running"), expect: "wait: await-claims" },
  { name: "fails when the EtcdBackup goes before all Jobs are made", given: withMember(restore({ with: { backup: undefined } }), 1, { filling: undefined }), expect: "warn: restore-failed", because: "BackupNotFound: spec.source.backupName is nightly, and there is no such EtcdBackup in this namespace" },
  { name: "but not when it goes after that", given: restore({ with: { backup: undefined } }), expect: "wait: await-claims" },
  { name: "needs no Jobs any more when its claims are told", given: clearedJobs(told(3)), expect: "create-cluster: createCluster restored" },
  { name: "nor the EtcdBackup", given: clearedJobs(told(3, { with: { backup: undefined } })), expect: "create-cluster: createCluster restored" },
  { name: "nor to be held", given: restore({ stage: "told", held: false }), expect: "create-cluster: createCluster restored" },
  { name: "nor its image", given: restore({ stage: "told", with: { agentImage: undefined } }), expect: "create-cluster: createCluster restored" },
  { name: "nor a place", given: restore({ stage: "told", with: { otherClaims: [foreignClaim("restored-4")] } }), expect: "create-cluster: createCluster restored" },
  { name: "nor a claim that its cluster has lost", given: withMember(restore({ stage: "forming" }), 2, { claim: undefined, filling: undefined }), expect: "wait: await-cluster" },
  { name: "to the end, although it has failed in the middle", given: told(1, { status: FAILED_NOW }), expect: "tell-claims: tellClaim restored-1" },
  { name: "to the end, although it has failed in the middle, is being deleted and nothing holds it", given: told(2, { status: FAILED, held: false, deleting: true }), expect: "tell-claims: tellClaim restored-2" },
  { name: "lets go what has failed with claims that are told", given: told(3, { status: FAILED_NOW }), expect: "release-restore: releaseRestore" },
  { name: "tells no claim of what is completed", given: told(2, { status: COMPLETED }), expect: "release-restore: releaseRestore" },
  { name: "leaves alone a claim that its cluster has taken, whatever it says now", given: withMember(restore({ stage: "ready" }), 1, { claim: claimAt(running, "restored-1") }), expect: "wait: restore-completed" },
  { name: "keeps claims that a cluster has lived on and that have lost their words, when it is gone", given: restore({ stage: "claims", status: { ...FAILED, begun: true } }), expect: "release-restore: releaseRestore" },
  { name: "and when the restore is deleted before it has failed for that", given: restore({ stage: "claims", status: { ...STARTED, begun: true }, deleting: true }), expect: "release-restore: releaseRestore" },
  { name: "and when it was completed", given: restore({ stage: "claims", status: COMPLETED, deleting: true }), expect: "release-restore: releaseRestore" },
  { name: "neither fills nor tells them again", given: restore({ stage: "filled", status: { ...STARTED, begun: true } }), expect: "warn: restore-failed", because: "ClaimLost: the claims were filled, and do not say any more whose data they hold; a cluster may have lived on them, and they are kept" },
  { name: "tells again what has lost its words before that", given: withMember(restore({ stage: "forming" }), 1, { claim: claimAt(running, "restored-1") }), expect: "tell-claims: tellClaim restored-1" },
  { name: "deletes no claim that its cluster has taken", given: restore({ deleting: true, with: { cluster: clusterOf(running, true) } }), expect: "release-restore: releaseRestore" },
  { name: "waits for a cluster that somebody else makes of its claims", given: told(3, { with: { cluster: { ...live, status: {} } } }), expect: "wait: await-cluster", because: "EtcdCluster restored is not Ready yet: nothing is known of it yet" },
  { name: "tells the others although it is there by then", given: told(1, { with: { cluster: { ...live, status: {} } } }), expect: "tell-claims: tellClaim restored-1" },
  { name: "makes nothing anew for a cluster that has taken its claims, which are gone", given: restore({ stage: "new", held: true, with: { cluster: clusterOf(running, true) } }), expect: "warn: restore-failed", because: "ClaimLost: EtcdCluster restored has begun with the claims of this restore, and none of them is there any more" },
  { name: "nor for one that it has made of them", given: restore({ stage: "claims", with: { cluster: clusterOf(running) } }), expect: "warn: restore-failed", because: "ClaimLost: EtcdCluster restored has begun" },
  { name: "tells no claim of what is deleted before that", given: restore({ stage: "filled", deleting: true }), expect: "delete-claims: deleteClaim restored-0" },
  { name: "tells no claim of somebody else, and says that its own is lost", given: withMember(told(2), 2, { claim: foreignClaim("restored-2") }), expect: "warn: restore-failed", because: "ClaimLost: claim restored-2 is somebody else's now, before its cluster was there" },
  { name: "clears a Job once", given: deletedJobs(restore({ stage: "ready", status: COMPLETED, held: false })), expect: "settled" },
  { name: "clears what is completed at once", given: restore({ stage: "ready", status: { ...COMPLETED, completionTime: "2026-01-01T12:00:00Z" }, held: false }), expect: "clear-jobs: deleteJob 0" },
  { name: "clears what is completed although it is being deleted", given: restore({ stage: "ready", status: COMPLETED, held: false, deleting: true }), expect: "clear-jobs: deleteJob 0" },
  { name: "tells what is in its place before what it lacks", given: deletedClaims({ ...foreignClaims(), backup: undefined }), expect: "warn: await-place" },
  { name: "tells what people can mend before its image", given: restore({ stage: "new", with: { backup: undefined, agentImage: undefined } }), expect: "warn: await-source" },
  { name: "takes no Job of somebody else for its own, though it has ended well", given: withMember(restore({ stage: "filled" }), 0, { filling: { ...restore({ stage: "filled" }).members[0]!.filling!, job: theirs(restore({ stage: "filled" }).members[0]!.filling!.job) } }), expect: "warn: await-place" },
  { name: "warns of an image that cannot be had", given: withMember(running, 1, { filling: { job, pods: [restorePod(job, "Pending", [{ waiting: { reason: "ErrImagePull" } }])] } }), expect: "warn: await-claims" },
  { name: "refuses claims that hold the data of another cluster", given: withMember(restore({ stage: "new" }), 0, { claim: { ...claimAt(running, "restored-0", true), metadata: { ...claimAt(running, "restored-0", true).metadata, labels: {} } } }), expect: "warn: restore-failed", because: "ClaimExists" },
  { name: "takes no cluster of another name for the one that has asked", given: restore({ stage: "new", askedBy: "uid-of-restored", spec: { clusterTemplate: { clusterName: "other", spec: { replicas: 1 } } }, with: { cluster: { ...live, status: {} } } }), expect: "warn: restore-failed", because: "ClusterExists" },
  { name: "takes a snapshot of whatever calls itself etcd", given: restore({ stage: "claims", with: { backup: sourceBackup({ object: { ...sourceBackup().status!.object!, etcdVersion: "main" } }) } }), expect: "fill-claim: createJob 0" },
  { name: "goes on when one Job is made", given: withMember(restore({ stage: "claims", spec: ON_VOLUME, with: { sourceClaim: undefined } }), 0, { filling: restore({ spec: ON_VOLUME }).members[0]!.filling }), expect: "fill-claim: createJob 1" },
  { name: "fails when a claim of its own is being deleted", given: goingClaim(running), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted, in the middle of the restore" },
  { name: "although its Job is not made yet", given: goingClaim(restore({ stage: "claims" })), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted" },
  { name: "tells no claim when one of the filled is being deleted", given: goingClaim(restore({ stage: "filled" })), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted" },
  { name: "tells no claim when one of the filled is gone", given: withMember(restore({ stage: "filled" }), 1, { claim: undefined }), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is gone" },
  { name: "deletes the filled claims when one is lost", given: withMember(restore({ stage: "filled", status: FAILED }), 1, { claim: undefined }), expect: "delete-claims: deleteClaim restored-0" },
  { name: "tells the others when one is lost in the middle of telling", given: goingClaim(told(1)), expect: "tell-claims: tellClaim restored-2" },
  { name: "makes no cluster of a claim that is being deleted", given: goingClaim(told(3)), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted, before its cluster was there" },
  { name: "does not wait for a cluster that waits for a claim to go", given: goingClaim(restore({ stage: "forming" })), expect: "warn: restore-failed", because: "ClaimLost: claim restored-1 is being deleted, before its cluster has taken it" },
  { name: "leaves claims to a cluster that has taken them", given: goingClaim(restore({ stage: "ready" })), expect: "wait: restore-completed" },
  { name: "waits for the operator's image", given: restore({ stage: "new", with: { agentImage: undefined } }), expect: "warn: await-image", because: "--agent-image" },
]; // biome-ignore format: a table

/** The same with this status; all but one Job have ended well. */
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

/** Somebody deletes the second claim. */
function goingClaim(snapshot: RestoreSnapshot): RestoreSnapshot {
  const { claim } = snapshot.members[1]!;
  const metadata = { ...claim!.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" };
  return withMember(snapshot, 1, { claim: { ...claim!, metadata } });
}

/** Every member's claim is somebody else's. */
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

test("restore plan: what has failed is looked at again when its logs may go, and then never", () => {
  const at = (leftMs: number) =>
    later(clearedJobs(restore({ stage: "told", held: false, status: FAILED_NOW })), 5 * MINUTE - leftMs);
  expect(planRestore(at(1))).toEqual({ next: "settled", recheckAfterMs: 1 });
  expect(planRestore(at(2))).toEqual({ next: "settled", recheckAfterMs: 2 });
  expect(planRestore(at(0))).toEqual({ next: "settled" });
  expect(planRestore(at(-1))).toEqual({ next: "settled" });
});

test("restore plan: what is being deleted is not looked at again for its logs", () => {
  const going = restore({ stage: "told", held: false, deleting: true, status: FAILED_NOW });
  expect(planRestore(clearedJobs(going))).toEqual({ next: "settled" });
});

test("restore plan: claims that are there are filled while another one is refused", () => {
  const given = withMember(restore({ stage: "claims" }), 0, { claim: undefined });
  const refused = (rule: string) =>
    rule === "create-claim" ? { because: "quota", forMs: 1_000, isBrief: false } : undefined;
  expect(planText(planRestore(given, refused), stepText)).toBe("fill-claim: createJob 1");
});

test("restore plan: while a claim or a Job of what was given up cannot be deleted, it does not go", () => {
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
