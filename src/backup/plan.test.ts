import { expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import { CLUSTER_LABEL, DELETE_OBJECT_ANNOTATION, KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { BACKUP_RULES, planBackup } from "#backup/plan.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { BackupStep } from "#backup/step.ts";
import { begin } from "#kit/snapshots/begin.ts";
import {
  agentPod,
  attempt,
  available,
  BUSY,
  backup,
  check,
  destinationClaim,
  endedPod,
  FULL,
  GONE,
  isAvailable,
  ON_VOLUME,
  overTls,
  removal,
  stored,
  verification,
  verified,
  withProxy,
} from "#kit/snapshots/etcd-backup.ts";
import { planText } from "#kit/tables/plan-text.ts";
import type { Job } from "#kube/kinds.ts";

function stepText(step: BackupStep): string {
  if ("job" in step) return `${step.do} ${step.job.metadata.name}`;
  return "pod" in step ? `${step.do} ${step.pod.metadata.name}` : step.do;
}

const DELETE = { deletionPolicy: "Delete" };
const ENDED = { phase: "Failed", jobName: "nightly" } as const;
const MADE = { phase: "BackingUp", jobName: "nightly" } as const;
/** First observed now. */
const STARTED = { phase: "BackingUp", startTime: "2026-01-01T12:00:00Z" } as const;
/** The Job exists, and none of its pods has run. */
const NOTHING = { ...MADE, nothingStored: true } as const;
const KEEP = { [KEEP_OBJECT_ANNOTATION]: "true" };
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const job = attempt(backup(), "running").job;

/** Being deleted, and held until its object is deleted. */
function going(given: Parameters<typeof backup>[0] = {}): BackupSnapshot {
  return backup({ status: MADE, ...given, spec: { ...DELETE, ...given.spec }, deleting: true, held: true });
}

function withJob(snapshot: BackupSnapshot, metadata: object): BackupSnapshot {
  const { taking } = snapshot;
  return {
    ...snapshot,
    taking: { ...taking!, job: { ...taking!.job, metadata: { ...taking!.job.metadata, ...metadata } } as Job },
  };
}

function requestedADayBefore(snapshot: BackupSnapshot): BackupSnapshot {
  const verification = { startTime: "2025-12-31T12:00:00Z" };
  return { ...snapshot, backup: { ...snapshot.backup, status: { ...snapshot.backup.status, verification } } };
}

/** A backup with a Job that ended some time ago, by the status. */
function endedBefore(ms: number, status: object = {}, verifying?: BackupSnapshot["verifying"]): BackupSnapshot {
  const completionTime = new Date(backup().takenAtMs - ms).toISOString();
  const given = {
    phase: "Completed" as const,
    objectKey: "k",
    completionTime,
    verification: { completionTime },
    ...status,
  };
  return backup({ stage: "succeeded", status: given, with: { verifying } });
}

function later(snapshot: BackupSnapshot, ms: number): BackupSnapshot {
  return { ...snapshot, takenAtMs: snapshot.takenAtMs + ms };
}

function removing(stage: Parameters<typeof removal>[1], given: Parameters<typeof backup>[0] = {}): BackupSnapshot {
  const snapshot = going({ stage: "succeeded", ...given });
  return { ...snapshot, removing: removal(snapshot, stage) };
}

const own = attempt(backup(), "running");
const leftJob = removing("running").removing!.job;
/** The Job failed by its deadline, and its controller has deleted the pod. */
const overdue = { job: attempt(backup(), "failed").job, pods: [] };
const membersClaim = destinationClaim({ [CLUSTER_LABEL]: "my-etcd" });
/** The deletion Job has this metadata. */
/** Its deletion was requested this long before the fixture's time. */
function requestedEarlier(snapshot: BackupSnapshot, ms: number): BackupSnapshot {
  const { metadata } = snapshot.backup;
  const deletionTimestamp = new Date(Date.parse(metadata.deletionTimestamp!) - ms).toISOString();
  return { ...snapshot, backup: { ...snapshot.backup, metadata: { ...metadata, deletionTimestamp } } };
}

function ofRemoval(snapshot: BackupSnapshot, metadata: object): BackupSnapshot {
  const { job, pods } = snapshot.removing!;
  return { ...snapshot, removing: { pods, job: { ...job, metadata: { ...job.metadata, ...metadata } } as Job } };
}

/** The pod has succeeded, and the Job controller has not observed it yet. */
function endedPodOf(snapshot: BackupSnapshot): BackupSnapshot {
  const { job } = snapshot.removing!;
  return { ...snapshot, removing: { job, pods: [endedPod(job, 0, { ok: true, kind: "delete", deleted: true })] } };
}

/** A user keeps the object, and the deleting pod should have ended this long ago. */
function keptDespite(ms: number): BackupSnapshot {
  const { job } = removal(backup(), "running");
  const pod = agentPod(job, { phase: "Running" }, { running: {} }, { deletionTimestamp: "2026-01-01T12:00:00Z" });
  return later(going({ stage: "succeeded", annotations: KEEP, with: { orphans: [pod] } }), ms);
}

/** The object must be deleted, and the storing pod does not end. */
function storingDespite(): BackupSnapshot {
  const pod = agentPod(job, { phase: "Running" }, { running: {} }, { deletionTimestamp: "2026-01-01T12:00:00Z" });
  return going({ stage: "new", with: { orphans: [pod] } });
}

/** An attempt of the deletion failed with this report, and the Job continues. */
function attemptFailed(reason: "NoSuchBucket"): BackupSnapshot {
  const snapshot = removing("made");
  const { job } = snapshot.removing!;
  return { ...snapshot, removing: { job, pods: [endedPod(job, 1, failure(reason, "no"))] } };
}

/** The object is being verified. @param found the recorded result */
function verifying(
  stage: Parameters<typeof verification>[1],
  ends?: Parameters<typeof verification>[2],
  found?: "True" | "False",
): BackupSnapshot {
  const condition = {
    type: "Verified",
    reason: "Verified",
    message: "",
    observedGeneration: 1,
    lastTransitionTime: "2026-01-01T12:00:00Z",
  };
  const snapshot = verified(found === undefined ? {} : { status: { conditions: [{ ...condition, status: found }] } });
  return { ...snapshot, verifying: verification(snapshot, stage, ends) };
}

/** While or after the Job of a daily check. */
function checking(stage: Parameters<typeof check>[1], report?: Parameters<typeof check>[2]): BackupSnapshot {
  return { ...stored(), checking: check(stored(), stage, report) };
}

/** The status has the result of the check. */
function recorded(...args: Parameters<typeof checking>): BackupSnapshot {
  const snapshot = checking(...args);
  const objectCheck = { time: "2026-01-01T12:00:00Z", jobUID: snapshot.checking!.job.metadata.uid };
  return { ...snapshot, backup: stored({ status: { objectCheck } }).backup };
}

/** The Job of the check has this metadata. */
function ofCheck(snapshot: BackupSnapshot, metadata: object): BackupSnapshot {
  const { job, pods } = snapshot.checking!;
  return { ...snapshot, checking: { pods, job: { ...job, metadata: { ...job.metadata, ...metadata } } as Job } };
}

/** The verification Job has this metadata. */
function ofVerification(snapshot: BackupSnapshot, metadata: object): BackupSnapshot {
  const { job, pods } = snapshot.verifying!;
  return { ...snapshot, verifying: { pods, job: { ...job, metadata: { ...job.metadata, ...metadata } } as Job } };
}

const failedRemoval = removing("failed");
const cases: { name: string; given: BackupSnapshot; expect: string; because?: string | RegExp }[] = [
  { name: "creates the Job for a new backup", given: backup({ stage: "new" }), expect: "create-job: createJob nightly", because: /^a snapshot of my-etcd is taken, and stored as s3:\/\/backups\/foo/ },
  { name: "creates the Job for another etcd", given: backup({ stage: "new", spec: { source: { external: { endpoints: ["http://a:2379"] } } }, with: { cluster: undefined } }), expect: "create-job: createJob nightly" },
  { name: "waits while the agent takes and stores the snapshot", given: backup(), expect: "wait: await-job", because: "a snapshot is being taken and stored" },
  { name: "waits for the pod of the Job to be created", given: backup({ stage: "made" }), expect: "wait: await-job", because: "the pod of Job nightly is not created yet" },
  { name: "shows Kubernetes' quota warning while the pod cannot be created", given: backup({ stage: "made", with: { warnings: ["exceeded quota: q"] } }), expect: "warn: await-job", because: "the pod of Job nightly cannot be created: exceeded quota: q" },
  { name: "warns of a Secret that does not exist", given: backup({ stage: "starting", with: { warnings: ['MountVolume.SetUp failed: secret "s3" not found'] } }), expect: "warn: await-job", because: /among s3: MountVolume/ },
  { name: "warns of an image that cannot be pulled", given: backup({ with: { taking: { job, pods: [agentPod(job, { phase: "Pending" }, { waiting: { reason: "ErrImagePull" } })] } } }), expect: "warn: await-job" },
  { name: "fails when the Job has no pod after ten minutes", given: later(backup({ stage: "made", with: { warnings: ["exceeded quota: q"] } }), 10 * MINUTE), expect: "warn: backup-failed", because: /^PodRefused: the pod of Job nightly cannot be created: exceeded quota: q; it was waited for 10 minutes$/ },
  { name: "reports completion when the Job has succeeded", given: backup({ stage: "succeeded" }), expect: "wait: backup-completed" },
  { name: "reports the agent's reason when the Job has failed", given: backup({ stage: "failed" }), expect: "warn: backup-failed", because: "NoSpace: the bucket is full" },
  { name: "does nothing for a completed backup", given: backup({ stage: "succeeded", status: { phase: "Completed" } }), expect: "settled" },
  { name: "does nothing for a failed backup", given: backup({ stage: "failed", status: ENDED }), expect: "settled" },
  { name: "creates no second Job for a failed backup", given: backup({ stage: "new", status: ENDED }), expect: "settled" },
  { name: "deletes the active Job of a failed backup", given: backup({ stage: "made", status: ENDED }), expect: "stop-job: deleteJob nightly" },
  { name: "does not delete a Job that is already being deleted", given: withJob(backup({ status: ENDED }), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "settled" },
  { name: "never deletes a foreign Job", given: withJob(backup({ status: ENDED }), { ownerReferences: [] }), expect: "settled" },
  { name: "warns of a Job of the same name without a controller", given: withJob(backup(), { ownerReferences: [] }), expect: "warn: job-taken", because: "Job nightly exists already: it has no controller" },
  { name: "warns of a Job of the same name that an earlier EtcdBackup controls", given: withJob(backup(), { ownerReferences: [{ kind: "EtcdBackup", name: "nightly", uid: "old", controller: true }] }), expect: "warn: job-taken", because: "EtcdBackup nightly (uid old) manages it" },
  { name: "fails when a foreign Job has its name for ten minutes", given: begin(backup({ status: STARTED })).apply(withJob, { ownerReferences: [] }).apply(later, 10 * MINUTE).snapshot, expect: "warn: backup-failed", because: /^NameTaken: Job nightly exists already: it has no controller; it was waited for 10 minutes$/ },
  { name: "waits for a cluster that does not exist", given: backup({ stage: "new", with: { cluster: undefined } }), expect: "warn: await-source", because: "this namespace has no EtcdCluster my-etcd" },
  { name: "waits for a cluster without quorum", given: backup({ stage: "new", with: { cluster: available({ conditions: [isAvailable("False", "QuorumLost")] }) } }), expect: "warn: await-source", because: "two of three members answer" },
  { name: "fails when the cluster is missing for ten minutes", given: later(backup({ stage: "new", status: STARTED, with: { cluster: undefined } }), 10 * MINUTE), expect: "warn: backup-failed", because: /^ClusterNotFound: .*; it was waited for 10 minutes$/ },
  { name: "ignores the cluster's state once the Job exists", given: backup({ with: { cluster: undefined } }), expect: "wait: await-job" },
  { name: "waits until the operator knows the agent's image", given: backup({ stage: "new", with: { agentImage: undefined } }), expect: "warn: await-image", because: "--agent-image" },
  { name: "sets the finalizer first when the policy is Delete", given: backup({ stage: "new", spec: DELETE }), expect: "hold-backup: holdBackup" },
  { name: "creates the Job of a backup with policy Delete once the finalizer is set", given: backup({ stage: "new", spec: DELETE, held: true }), expect: "create-job: createJob nightly" },
  { name: "refuses an unknown placeholder in the URL template", given: backup({ stage: "new", spec: { destination: { url: { template: "s3://b/{{ .Foo }}" } } } }), expect: "warn: backup-failed", because: "SpecRefused: spec.destination.url.template has {{ .Foo }}; it may have {{ .Namespace }}" },
  { name: "refuses a destination claim that belongs to a member", given: backup({ stage: "new", spec: ON_VOLUME, with: { claim: membersClaim } }), expect: "warn: backup-failed", because: "is for the data of a member of EtcdCluster my-etcd" },
  { name: "creates the Job for a labelled destination claim", given: backup({ stage: "new", spec: ON_VOLUME, with: { claim: destinationClaim() } }), expect: "create-job: createJob nightly" },
  { name: "waits until the destination claim is labelled", given: backup({ stage: "new", spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), expect: "warn: await-claim", because: "kubectl label persistentvolumeclaim backups etcd.improbable.io/backup-destination=true" },
  { name: "waits for a destination claim that does not exist", given: backup({ stage: "new", spec: ON_VOLUME }), expect: "warn: await-claim", because: "which this namespace does not have" },
  { name: "fails when the destination claim is missing for ten minutes", given: later(backup({ stage: "new", status: STARTED, spec: ON_VOLUME }), 10 * MINUTE), expect: "warn: backup-failed", because: /^ClaimNotAllowed: .*; it was waited for 10 minutes$/ },
  { name: "ignores the label of the destination claim once the Job exists", given: backup({ spec: ON_VOLUME }), expect: "wait: await-job" },
  { name: "fails when the destination claim becomes a member's claim before the pod starts", given: backup({ stage: "starting", spec: ON_VOLUME, with: { claim: membersClaim } }), expect: "warn: backup-failed", because: "SpecRefused: spec.destination.volume.claimName is backups" },
  { name: "deletes no object on an unlabelled claim", given: going({ stage: "succeeded", spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), expect: "warn: await-deletion", because: /^its object cannot be deleted: ClaimNotAllowed: .*=true; to delete the EtcdBackup and keep volume:/ },
  { name: "deletes the object on a labelled claim", given: going({ stage: "succeeded", spec: ON_VOLUME, with: { claim: destinationClaim() } }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "does nothing for a deleted backup with policy Retain", given: backup({ deleting: true }), expect: "settled" },
  { name: "creates nothing while the EtcdBackup is being deleted", given: backup({ stage: "new", deleting: true }), expect: "settled" },
  { name: "deletes the active Job before it deletes the object", given: going(), expect: "stop-backup: deleteJob nightly" },
  { name: "waits for the pod of a Job that is being deleted", given: withJob(going(), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "wait: stop-backup", because: "pod nightly-abcde is ending" },
  { name: "waits for the running pods of a deleted Job", given: going({ stage: "new", with: { orphans: attempt(backup(), "running").pods } }), expect: "wait: stop-backup" },
  { name: "waits two minutes for a pod that is ending", given: later(storingDespite(), 2 * MINUTE - 1), expect: "wait: stop-backup" },
  { name: "shows after two minutes how to give up an object that a lost pod may still store", given: later(storingDespite(), 2 * MINUTE), expect: "warn: stop-backup", because: /^its object cannot be deleted: PodPending: pod nightly-abcde should have ended and still exists, for example on a lost node; it may still store an object; to delete the EtcdBackup and keep s3:.*keep-object/ },
  { name: "removes the finalizer when the bucket no longer exists", given: { ...failedRemoval, removing: removal(backup(), "failed", failure("NoSuchBucket", "no bucket b")) }, expect: "release-backup: releaseBackup", because: "its object is gone together with its bucket: no bucket b" },
  { name: "ignores a foreign deletion Job's report that the bucket no longer exists", given: ofRemoval({ ...failedRemoval, removing: removal(backup(), "failed", failure("NoSuchBucket", "no bucket b")) }, { ownerReferences: [] }), expect: "warn: await-deletion" },
  { name: "ignores an attempt's report that the bucket no longer exists until the deletion Job has ended", given: attemptFailed("NoSuchBucket"), expect: "warn: await-deletion", because: "an attempt of Job delete-0123456789-uid-of-backup has failed" },
  { name: "creates the deletion Job when the EtcdBackup is deleted", given: going({ stage: "succeeded" }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup", because: /^s3:\/\/backups\/.* is deleted before the EtcdBackup$/ },
  { name: "deletes the object of a failed backup, which may be stored in part", given: going({ stage: "failed", status: ENDED }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "deletes the object of an EtcdBackup annotated to delete it, although the policy is Retain", given: backup({ stage: "succeeded", status: MADE, deleting: true, held: true, annotations: { [DELETE_OBJECT_ANNOTATION]: "true" } }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "waits while the deletion Job runs", given: removing("running"), expect: "wait: await-deletion", because: "its object is being deleted" },
  { name: "waits for the deletion Job's pod to start", given: removing("starting"), expect: "wait: await-deletion", because: "its object is being deleted" },
  { name: "does not warn before the deletion Job's pod has been starting for 30 seconds", given: later(removing("starting"), 19_999), expect: "wait: await-deletion" },
  { name: "warns when the deletion Job's pod has been starting for 30 seconds", given: later(removing("starting"), 20_000), expect: "warn: await-deletion", because: "PodPending: pod delete-0123456789-uid-of-backup-abcde: container agent waits: ContainerCreating" },
  { name: "warns at once when the deletion Job's pod cannot be created", given: { ...removing("made"), warnings: ["quota"] }, expect: "warn: await-deletion", because: "PodRefused: the pod of Job delete-0123456789-uid-of-backup cannot be created: quota" },
  { name: "removes the finalizer when the object is deleted", given: removing("succeeded"), expect: "release-backup: releaseBackup", because: "its object is deleted" },
  { name: "shows why the deletion failed and how to keep the object instead", given: failedRemoval, expect: "warn: await-deletion", because: /NoSpace: the bucket is full; to delete the EtcdBackup and keep s3:.*keep-object/ },
  { name: "keeps a failed deletion Job for ten minutes", given: later(failedRemoval, 10 * MINUTE - 2_001), expect: "warn: await-deletion" },
  { name: "deletes a failed deletion Job after ten minutes to retry it", given: later(failedRemoval, 10 * MINUTE - 2_000), expect: "retry-deletion: deleteJob delete-0123456789-uid-of-backup" },
  { name: "waits longer after each failed deletion: as long as the deletion has been requested", given: requestedEarlier(later(failedRemoval, 60 * MINUTE - 5_000), 60 * MINUTE), expect: "warn: await-deletion" },
  { name: "retries a deletion that was requested days ago every two hours", given: requestedEarlier(later(failedRemoval, 120 * MINUTE - 2_000), 9 * DAY), expect: "retry-deletion: deleteJob delete-0123456789-uid-of-backup" },
  { name: "waits for almost two hours to retry a deletion that was requested days ago", given: requestedEarlier(later(failedRemoval, 120 * MINUTE - 2_001), 9 * DAY), expect: "warn: await-deletion" },
  { name: "does not replace a deletion Job that is still running", given: later(removing("running"), 20 * MINUTE), expect: "wait: await-deletion" },
  { name: "does not delete a deletion Job that is already being deleted", given: begin(failedRemoval).apply(ofRemoval, { deletionTimestamp: "2026-01-01T12:10:00Z" }).apply(later, 20 * MINUTE).snapshot, expect: "warn: await-deletion" },
  { name: "never deletes a foreign deletion Job", given: begin(failedRemoval).apply(ofRemoval, { ownerReferences: [] }).apply(later, 20 * MINUTE).snapshot, expect: "warn: await-deletion" },
  { name: "ignores the success of a foreign deletion Job", given: ofRemoval(removing("succeeded"), { ownerReferences: [] }), expect: "wait: await-deletion" },
  { name: "waits for the end of a deletion Job after its pod has succeeded", given: endedPodOf(removing("running")), expect: "wait: await-deletion", because: "its object is being deleted" },
  { name: "deletes the object of a Job that the status does not record yet", given: going({ stage: "succeeded", status: { phase: "BackingUp" } }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "waits until the status records the Job before it deletes the Job", given: going({ status: { phase: "BackingUp" } }), expect: "wait: stop-backup", because: "before its Job is deleted, the status must record that it was created" },
  { name: "deletes a recorded Job that has no pod", given: going({ stage: "made" }), expect: "stop-backup: deleteJob nightly" },
  { name: "removes the finalizer when the Job of its name is foreign", given: withJob(going({ stage: "succeeded", status: { phase: "BackingUp" } }), { ownerReferences: [] }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "does not delete a foreign Job that runs under its name", given: withJob(going({ status: { phase: "BackingUp" } }), { ownerReferences: [] }), expect: "release-backup: releaseBackup" },
  { name: "removes the finalizer when the spec has no destination and no Job was created", given: going({ stage: "new", status: { phase: "Failed" }, spec: { destination: {} } }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "keeps the finalizer when the spec no longer has the destination of a stored object", given: going({ stage: "new", spec: { destination: {} } }), expect: "warn: await-deletion", because: /^its object cannot be deleted: SpecRefused: spec.destination is empty; .*keep-object/ },
  { name: "deletes a Job with a pod that waits for a Secret", given: going({ stage: "starting", status: NOTHING }), expect: "stop-backup: deleteJob nightly" },
  { name: "does not wait for the pod of a deleted verification, which stores nothing", given: going({ stage: "succeeded", with: { orphans: verification(verified(), "running").pods } }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "does not wait for the pod of a deleted check, which stores nothing", given: going({ stage: "succeeded", with: { orphans: check(stored(), "running").pods } }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "waits for the pending pod of a deleted Job", given: going({ stage: "new", status: NOTHING, with: { orphans: attempt(backup(), "starting").pods } }), expect: "wait: stop-backup" },
  { name: "removes the finalizer when nothing was stored", given: going({ stage: "new", status: NOTHING }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "removes the finalizer of a failed backup when its pods never ran", given: going({ status: { ...NOTHING, phase: "Failed" }, with: { taking: overdue } }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "waits until the status records that an agent has run before it deletes the Job", given: going({ status: NOTHING }), expect: "wait: stop-backup", because: "the status must record that its agent has run" },
  { name: "waits until the status records a Job that completed unobserved", given: going({ status: NOTHING, with: { taking: { job: attempt(backup(), "succeeded").job, pods: [] } } }), expect: "wait: stop-backup" },
  {
    name: "does nothing for a failed deletion when the policy is now Retain",
    given: later({ ...failedRemoval, backup: backup({ status: ENDED, deleting: true }).backup }, 20 * MINUTE),
    expect: "settled",
  },
  { name: "removes the finalizer when a user keeps the object after a failed deletion", given: { ...failedRemoval, ...backup({ spec: DELETE, deleting: true, held: true, annotations: KEEP }) }, expect: "release-backup: releaseBackup", because: 'keep-object is "true": the object stays, except for what is deleted already' },
  { name: "deletes a running deletion Job when a user keeps the object", given: removing("running", { annotations: KEEP }), expect: "stop-deletion: deleteJob delete-0123456789-uid-of-backup", because: "is deleted before the EtcdBackup, so that the object stays" },
  { name: "waits for the pod of a deletion Job that is being deleted when a user keeps the object", given: ofRemoval(removing("running", { annotations: KEEP }), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "wait: stop-deletion", because: "is ending; until then it may delete something" },
  { name: "waits for the running pod of a deleted deletion Job when a user keeps the object", given: going({ stage: "succeeded", annotations: KEEP, with: { orphans: removal(backup(), "running").pods } }), expect: "wait: stop-deletion" },
  { name: "waits two minutes for the deletion Job's pod to end when a user keeps the object", given: keptDespite(2 * MINUTE - 1), expect: "wait: stop-deletion" },
  { name: "removes the finalizer after two minutes when a deletion pod does not end, for example on a lost node", given: keptDespite(2 * MINUTE), expect: "release-backup: releaseBackup" },
  { name: "does not wait for a storing pod when a user keeps the object", given: going({ annotations: KEEP, with: { orphans: attempt(backup(), "running").pods } }), expect: "release-backup: releaseBackup" },
  { name: "does not delete a failed deletion Job when a user keeps the object", given: removing("failed", { annotations: KEEP }), expect: "release-backup: releaseBackup" },
  { name: "does not delete a foreign deletion Job when a user keeps the object", given: ofRemoval(removing("made", { annotations: KEEP }), { ownerReferences: [] }), expect: "release-backup: releaseBackup" },
  { name: "reports the object as deleted when the deletion succeeded before a user kept it", given: removing("succeeded", { annotations: KEEP }), expect: "release-backup: releaseBackup", because: "its object is deleted" },
  { name: "does nothing for a running deletion without finalizer, even when a user keeps the object", given: { ...removing("running"), backup: backup({ deleting: true, annotations: KEEP }).backup }, expect: "settled" },
  { name: "removes the finalizer when no Job was created", given: going({ stage: "new", status: { phase: "BackingUp" } }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "deletes the object of a Job that is gone", given: going({ stage: "new" }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "waits while the maximum number of backups runs", given: backup({ stage: "new", with: { running: BUSY } }), expect: "wait: await-turn", because: "the backup waits until other backups end: at most 20 run at the same time (--running-backups), two thirds of them in one namespace" },
  { name: "creates the Job while a place is left", given: backup({ stage: "new", with: { running: { ...BUSY, all: 19 } } }), expect: "create-job: createJob nightly" },
  { name: "does not wait with a verification for the end of other backups", given: verified({ with: { running: BUSY } }), expect: "verify-object: createVerificationJob verify-0123456789-uid-of-backup" },
  { name: "does not wait with a deletion for the end of other backups", given: going({ stage: "succeeded", with: { running: BUSY } }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "warns that no deletion Job can be created without the agent's image", given: going({ stage: "new", with: { agentImage: undefined } }), expect: "warn: await-deletion", because: "no Job can be created for it" },
  { name: "creates the verification Job of a completed backup", given: verified(), expect: "verify-object: createVerificationJob verify-0123456789-uid-of-backup", because: /^spec.verification.mode is Restore: s3:.* is restored to a throw-away etcd and compared$/ },
  { name: "reports a failed verification when the object's etcd release is unknown", given: verified({ status: { object: undefined } as never }), expect: "warn: await-verification", because: /^the object could not be verified: AgentFailed: the etcd release/ },
  { name: "does not verify an object on an unlabelled claim", given: verified({ spec: ON_VOLUME }), expect: "warn: await-verification", because: "claimName is backups" },
  { name: "does not verify an object without the agent's image", given: verified({ with: { agentImage: undefined } }), expect: "warn: await-verification", because: "--agent-image" },
  { name: "does not verify an object at an invalid destination", given: verified({ stage: "new", spec: { destination: {} } }), expect: "warn: await-verification", because: "SpecRefused: spec.destination is empty" },
  { name: "waits while the verification Job runs", given: verifying("running"), expect: "wait: await-verification", because: "the object is fetched and restored to a throw-away etcd" },
  { name: "waits for the verification Job's pod to start", given: verifying("starting"), expect: "wait: await-verification", because: "ContainerCreating" },
  { name: "warns when the verification Job's pod cannot be created", given: { ...verifying("made"), warnings: ["quota"] }, expect: "warn: await-verification", because: "the pod of Job verify-0123456789-uid-of-backup cannot be created: quota" },
  { name: "reports that the object is verified", given: verifying("succeeded"), expect: "wait: await-verification", because: "7 keys" },
  { name: "reports that the object failed its verification", given: verifying("failed", { verify: [2, failure("VerificationFailed", "no")] }), expect: "warn: await-verification", because: "the object failed its verification: VerificationFailed: no" },
  { name: "waits ten minutes before it repeats a verification that proved nothing", given: later(verifying("failed", { etcdutl: [137, ""] }), 10 * MINUTE - 3_000), expect: "warn: await-verification", because: "etcdutl ended with exit code 137 (Error); the next attempt is at 2026-01-01T12:09:58Z" },
  { name: "repeats a verification that proved nothing", given: later(verifying("failed", { etcdutl: [137, ""] }), 10 * MINUTE - 2_000), expect: "retry-verification: deleteJob verify-0123456789-uid-of-backup" },
  { name: "waits for the end of a failed Job that is being deleted", given: later(ofVerification(verifying("failed", { etcdutl: [137, ""] }), { deletionTimestamp: "2026-01-01T12:00:00Z" }), 10 * MINUTE), expect: "warn: await-verification" },
  { name: "does not repeat a verification that could not run for a day", given: requestedADayBefore(verifying("failed", { etcdutl: [137, ""] })), expect: "warn: await-verification", because: "the object could not be verified: AgentFailed: etcdutl ended with exit code 137 (Error); the object could not be verified for 24 hours" },
  { name: "does not repeat a verification a day after its request, although the pause has passed", given: later(requestedADayBefore(verifying("failed", { etcdutl: [137, ""] })), DAY), expect: "warn: await-verification", because: "the object could not be verified for 24 hours" },
  { name: "completes a backup in a pod with an added container that keeps running", given: backup({ with: { taking: withProxy(attempt(backup(), "succeeded")) } }), expect: "wait: backup-completed" },
  { name: "ends the Job of a completed backup in a pod with an added container", given: backup({ status: { phase: "Completed" }, with: { taking: withProxy(attempt(backup(), "succeeded")) } }), expect: "stop-job: deleteJob nightly" },
  { name: "ends the Job with an added container before the object of a deleted backup is deleted", given: going({ stage: "new", with: { taking: withProxy(attempt(backup(), "succeeded")) } }), expect: "stop-backup: deleteJob nightly" },
  { name: "fails with the report of a pod in which an added container keeps running, when a retry cannot help", given: backup({ with: { taking: withProxy(attempt(backup(), "failed")) } }), expect: "warn: backup-failed", because: "NoSpace" },
  { name: "ends a pod in which the agent has failed and an added container keeps running", given: backup({ with: { taking: withProxy({ job: own.job, pods: [endedPod(own.job, 1, FULL)] }) } }), expect: "end-pod: deletePod nightly-abcde", because: "the agent in pod nightly-abcde has failed, and container istio-proxy keeps the pod running; the pod is deleted, so that its Job tries again" },
  { name: "ends the pod of a verification in which an added container keeps running", given: { ...verified(), verifying: withProxy(verification(verified(), "failed", { verify: [1, "killed"] })) }, expect: "end-pod: deletePod verify-0123456789-uid-of-backup-abcde" },
  { name: "finds an object wrong in a pod with an added container", given: { ...verified(), verifying: withProxy(verification(verified(), "failed", { verify: [2, failure("VerificationFailed", "no")] })) }, expect: "warn: await-verification", because: "the object failed its verification: VerificationFailed: no" },
  { name: "verifies an object in a pod with an added container", given: { ...verified(), verifying: withProxy(verification(verified(), "succeeded")) }, expect: "wait: await-verification", because: "7 keys" },
  { name: "ends the Job of a verification that has ended in a pod with an added container", given: { ...verifying("made", undefined, "True"), verifying: withProxy(verification(verified(), "succeeded")) }, expect: "stop-verification: deleteJob verify-0123456789-uid-of-backup" },
  { name: "keeps the pod of a deletion with a failure that no retry can mend, although an added container keeps running", given: { ...removing("failed"), removing: withProxy(removing("failed").removing!) }, expect: "warn: await-deletion" },
  { name: "retries a deletion with a failure that no retry of the pod can mend after ten minutes, in a pod with an added container", given: later({ ...removing("failed"), removing: withProxy(removing("failed").removing!) }, 10 * MINUTE - 3_000), expect: "retry-deletion: deleteJob delete-0123456789-uid-of-backup" },
  { name: "ends the pod of a failed deletion in which an added container keeps running", given: { ...removing("failed"), removing: withProxy({ job: leftJob, pods: [endedPod(leftJob, 1, failure("NoSpace", "no"))] }) }, expect: "end-pod: deletePod delete-0123456789-uid-of-backup-abcde" },
  { name: "removes the finalizer when the object is deleted by a pod with an added container", given: { ...removing("succeeded"), removing: withProxy(removing("succeeded").removing!) }, expect: "release-backup: releaseBackup" },
  { name: "leaves the pod of a foreign Job alone", given: withJob(backup({ with: { taking: withProxy(attempt(backup(), "failed")) } }), { ownerReferences: [] }), expect: "warn: job-taken" },
  { name: "keeps the Jobs of an ended backup for almost a day", given: endedBefore(DAY - 1), expect: "settled" },
  { name: "deletes the Job of a backup that ended a day ago", given: endedBefore(DAY), expect: "clear-jobs: deleteJob nightly" },
  { name: "deletes the Job of a backup that failed a day ago", given: endedBefore(DAY, { phase: "Failed" }), expect: "clear-jobs: deleteJob nightly" },
  { name: "creates the Job of the daily check of a stored object", given: stored(), expect: "check-object: createCheckJob check-0123456789-uid-of-backup", because: /^the daily check looks whether s3:.* is still stored$/ },
  { name: "creates the Job of the daily check on a labelled claim", given: stored({ spec: ON_VOLUME, with: { claim: destinationClaim() } }), expect: "check-object: createCheckJob check-0123456789-uid-of-backup" },
  { name: "creates the Job of a check while places are free", given: stored({ with: { running: { ...BUSY, all: 19 } } }), expect: "check-object: createCheckJob check-0123456789-uid-of-backup" },
  { name: "does not check while other backups take all places", given: stored({ with: { running: BUSY } }), expect: "settled" },
  { name: "does not check an older backup", given: stored({ with: { isNewest: false } }), expect: "settled" },
  { name: "does not delete or create anything while the check runs", given: checking("running"), expect: "settled" },
  { name: "records that the object is stored", given: checking("succeeded"), expect: "wait: record-check", because: "the object and its manifest are stored" },
  { name: "warns that the object is gone", given: checking("failed", GONE), expect: "warn: record-check", because: "the object cannot be restored (NoSuchObject): there is no object k" },
  { name: "warns that the object could not be checked", given: checking("failed", failure("StoreUnreachable", "no route")), expect: "warn: record-check", because: "the daily check could not be made (StoreUnreachable): no route" },
  { name: "warns that a check needs a claim that is gone", given: stored({ spec: ON_VOLUME }), expect: "warn: record-check", because: "the daily check could not be made (ClaimNotAllowed): spec.destination.volume.claimName is backups" },
  { name: "deletes the Job of a check when the status has its result", given: recorded("failed", GONE), expect: "clear-check: deleteJob check-0123456789-uid-of-backup", because: "the result of Job check-0123456789-uid-of-backup is in the status, so the Job is deleted" },
  { name: "deletes the Job of a check that could not end", given: recorded("starting"), expect: "clear-check: deleteJob check-0123456789-uid-of-backup" },
  { name: "does not delete the Job of a check twice", given: ofCheck(recorded("failed", GONE), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "settled" },
  { name: "never deletes a foreign Job with the name of a check", given: ofCheck(recorded("failed", GONE), { ownerReferences: [] }), expect: "settled" },
  { name: "ends the pod of a check in which an added container keeps running", given: { ...stored(), checking: withProxy({ ...check(stored(), "failed"), pods: [endedPod(check(stored(), "failed").job, 1, "killed")] }) }, expect: "end-pod: deletePod check-0123456789-uid-of-backup-abcde" },
  { name: "deletes the Job of a verification that ended a day ago", given: { ...endedBefore(DAY, {}, verification(verified(), "succeeded")), taking: undefined }, expect: "clear-jobs: deleteJob verify-0123456789-uid-of-backup" },
  { name: "never deletes a foreign Job with the name of an ended backup's", given: withJob(endedBefore(DAY), { ownerReferences: [] }), expect: "settled" },
  { name: "does not delete a Job again that is being deleted", given: withJob(endedBefore(DAY), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "settled" },
  { name: "keeps the Job of an ended backup without a recorded key", given: endedBefore(DAY, { objectKey: undefined }), expect: "settled" },
  { name: "keeps the Job of an ended backup without a time", given: backup({ stage: "succeeded", status: { phase: "Completed" } }), expect: "settled" },
  { name: "does nothing for a verified backup", given: verifying("succeeded", undefined, "True"), expect: "settled" },
  { name: "deletes the active Job of a failed verification", given: verifying("made", undefined, "False"), expect: "stop-verification: deleteJob verify-0123456789-uid-of-backup" },
  { name: "does not delete a verification Job that is already being deleted", given: ofVerification(verifying("made", undefined, "False"), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "settled" },
  { name: "never deletes a foreign verification Job", given: ofVerification(verifying("made", undefined, "False"), { ownerReferences: [] }), expect: "settled" },
  { name: "deletes the verification Job when spec.verification.mode is no longer Restore", given: { ...verifying("made"), backup: verified({ spec: { verification: { mode: "None" } } }).backup }, expect: "stop-verification: deleteJob verify-0123456789-uid-of-backup" },
  { name: "keeps a verification Job while the backup is not completed", given: { ...verifying("made"), backup: verified({ status: { phase: "BackingUp" } }).backup }, expect: "wait: backup-completed" },
  { name: "deletes the object while its verification runs", given: { ...verifying("running"), ...going({ stage: "succeeded", spec: { verification: { mode: "Restore" } } }), verifying: verifying("running").verifying }, expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "shows why an attempt failed that is retried", given: backup({ stage: "made", with: { taking: { job, pods: [endedPod(job, 1, FULL)] } } }), expect: "warn: await-job", because: "an attempt of Job nightly has failed and is retried: NoSpace: the bucket is full" },
  { name: "deletes an archive's Job to replace it, although its claim is not read while a Job has it", given: { ...backup({ spec: { archive: {}, ...ON_VOLUME } }), cluster: overTls(), claim: undefined }, expect: "renew-job: deleteJob nightly" },
  { name: "deletes an archive's Job to replace it when the cluster has switched to TLS", given: { ...backup({ spec: { archive: {} } }), cluster: overTls() }, expect: "renew-job: deleteJob nightly", because: "Job nightly is replaced: EtcdCluster my-etcd is now reached over TLS" },
  { name: "waits for a pod that is being deleted", given: backup({ with: { taking: { job, pods: [agentPod(job, { phase: "Running" }, { running: {} }, { deletionTimestamp: "2026-01-01T12:00:00Z" })] } } }), expect: "wait: await-job", because: "is being deleted" },
]; // biome-ignore format: a table

for (const { name, given, expect: wanted, because = "" } of cases) {
  test(`backup plan: ${name}`, () => {
    const plan = planBackup(given);
    expect(planText(plan, stepText)).toBe(wanted);
    if (plan.next !== "settled") {
      if (typeof because === "string") expect(plan.because).toContain(because);
      else expect(plan.because).toMatch(because);
    }
  });
}

test("backup plan: an ended backup is looked at again when its first Job is to be deleted", () => {
  expect(planBackup(endedBefore(DAY - 5_000))).toEqual({ next: "settled", recheckAfterMs: 5_000 });
  const { takenAtMs } = backup();
  const ended = { verification: { completionTime: new Date(takenAtMs - DAY + 7_000).toISOString() } };
  const both = endedBefore(DAY - 5_000, ended, verification(verified(), "succeeded"));
  expect(planBackup(both)).toEqual({ next: "settled", recheckAfterMs: 5_000 });
  expect(planBackup({ ...endedBefore(DAY - 5_000), taking: undefined })).toEqual({ next: "settled" });
});

test("backup plan: a failed verification is looked at again when it is repeated", () => {
  const failedVerification = later(verifying("failed", { etcdutl: [137, ""] }), 4 * MINUTE);
  expect(planBackup(failedVerification)).toMatchObject({
    rule: "await-verification",
    recheckAfterMs: 6 * MINUTE - 2_000,
  });
  const last = { ...requestedADayBefore(failedVerification), takenAtMs: backup().takenAtMs - 20 * MINUTE };
  expect(planBackup(last)).toMatchObject({ rule: "await-verification", recheckAfterMs: 20 * MINUTE });
  expect(planBackup(verifying("running"))).toMatchObject({ rule: "await-verification", recheckAfterMs: 10_000 });
});

test.each<[string, BackupSnapshot, number | undefined]>([
  ["ten seconds later while its object is checked", checking("running"), 10_000],
  ["a minute later while its check waits for a place", stored({ with: { running: BUSY } }), 60_000],
  [
    "at the usual interval when no check is due",
    stored({ status: { objectCheck: { time: "2026-01-01T12:00:00Z" } } }),
    undefined,
  ],
])("backup plan: an ended backup is looked at again %s", (_, snapshot, recheckAfterMs) => {
  expect(planBackup(snapshot)).toEqual({
    next: "settled",
    ...(recheckAfterMs === undefined ? {} : { recheckAfterMs }),
  });
});

test("backup plan: no verification rule defers a step when no verification is pending", () => {
  const quiet = [verified({ spec: { verification: { mode: "None" } } }), verifying("succeeded", undefined, "True")];
  for (const snapshot of quiet) expect(planBackup({ ...snapshot, verifying: undefined })).toEqual({ next: "settled" });
  expect(planBackup(verified({ stage: "running", status: { phase: "BackingUp" } }))).not.toHaveProperty("reports");
});

test("backup plan: a refused Job creation is reported, and the plan settles until its retry", () => {
  const plan = planBackup(backup({ stage: "new" }), () => ({ because: "quota", forMs: 1_000, isBrief: false }));
  expect(plan).toMatchObject({
    next: "settled",
    reports: [{ rule: "create-job", because: "quota" }],
    recheckAfterMs: 1_000,
  });
});

test("backup plan: the finalizer stays while the deletion Job of a kept object cannot be deleted", () => {
  const given = removing("running", { annotations: KEEP });
  const plan = planBackup(given, () => ({ because: "no", forMs: 1_000, isBrief: false }));
  expect(planText(plan, stepText)).toBe("wait: stop-deletion");
});

test("backup plan: waiting backups look again at different times, after 10 to 20 s", () => {
  const waiting = backup({ stage: "new", with: { running: BUSY } });
  const times = Array.from({ length: 100 }, (_, n) => {
    const metadata = { ...waiting.backup.metadata, uid: `uid-${n}` };
    const plan = planBackup({ ...waiting, backup: { ...waiting.backup, metadata } });
    return plan.next === "wait" ? plan.recheckAfterMs : 0;
  });
  expect(Math.min(...times)).toBeGreaterThanOrEqual(10_000);
  expect(Math.min(...times)).toBeLessThan(11_000);
  expect(Math.max(...times)).toBeLessThanOrEqual(20_000);
  expect(Math.max(...times)).toBeGreaterThan(19_000);
});

test("backup plan: every rule decides at least one of the cases above", () => {
  const deciding = new Set(
    cases.map(({ given }) => planBackup(given)).flatMap((plan) => (plan.next === "settled" ? [] : [plan.rule])),
  );
  // These two settle, which leaves no name.
  const silent = ["deleting", "ended"];
  expect(BACKUP_RULES.map(({ name }) => name).filter((name) => !deciding.has(name) && !silent.includes(name))).toEqual(
    [],
  );
});
