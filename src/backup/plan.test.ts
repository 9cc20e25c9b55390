import { expect, test } from "vitest";
import { failure } from "#agent/report.ts";
import { CLUSTER_LABEL, DELETE_OBJECT_ANNOTATION, KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { BACKUP_RULES, planBackup } from "#backup/plan.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { BackupStep } from "#backup/step.ts";
import {
  agentPod,
  attempt,
  available,
  backup,
  destinationClaim,
  endedPod,
  FULL,
  isAvailable,
  ON_VOLUME,
  overTls,
  removal,
  verification,
  verified,
} from "#kit/etcd-backup.ts";
import { planText } from "#kit/plan-text.ts";
import type { Job } from "#kube/kinds.ts";

function stepText(step: BackupStep): string {
  return "job" in step ? `${step.do} ${step.job.metadata.name}` : step.do;
}

const DELETE = { objectPolicy: "Delete" };
const ENDED = { phase: "Failed", jobName: "nightly" } as const;
const MADE = { phase: "BackingUp", jobName: "nightly" } as const;
/** When it was looked at first: now. */
const STARTED = { phase: "BackingUp", startTime: "2026-01-01T12:00:00Z" } as const;
/** The Job is made, and no pod of it has run. */
const NOTHING = { ...MADE, nothingStored: true } as const;
const KEEP = { [KEEP_OBJECT_ANNOTATION]: "true" };
const MINUTE = 60_000;
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

function later(snapshot: BackupSnapshot, ms: number): BackupSnapshot {
  return { ...snapshot, takenAtMs: snapshot.takenAtMs + ms };
}

function removing(stage: Parameters<typeof removal>[1], given: Parameters<typeof backup>[0] = {}): BackupSnapshot {
  const snapshot = going({ stage: "succeeded", ...given });
  return { ...snapshot, removing: removal(snapshot, stage) };
}

/** The Job was given up by its controller, which has deleted its pod. */
const overdue = { job: attempt(backup(), "failed").job, pods: [] };
const membersClaim = destinationClaim({ [CLUSTER_LABEL]: "my-etcd" });
/** With other metadata on the Job that deletes. */
function ofRemoval(snapshot: BackupSnapshot, metadata: object): BackupSnapshot {
  const { job, pods } = snapshot.removing!;
  return { ...snapshot, removing: { pods, job: { ...job, metadata: { ...job.metadata, ...metadata } } as Job } };
}

/** The pod has ended well, and the Job controller has not seen it yet. */
function endedPodOf(snapshot: BackupSnapshot): BackupSnapshot {
  const { job } = snapshot.removing!;
  return { ...snapshot, removing: { job, pods: [endedPod(job, 0, { ok: true, kind: "delete", deleted: true })] } };
}

/** A person keeps the object, and the pod that deletes it was to be gone so long ago. */
function keptDespite(ms: number): BackupSnapshot {
  const { job } = removal(backup(), "running");
  const pod = agentPod(job, { phase: "Running" }, { running: {} }, { deletionTimestamp: "2026-01-01T12:00:00Z" });
  return later(going({ stage: "succeeded", annotations: KEEP, with: { orphans: [pod] } }), ms);
}

/** The object is to be deleted, and the pod that stores it does not end. */
function storingDespite(): BackupSnapshot {
  const pod = agentPod(job, { phase: "Running" }, { running: {} }, { deletionTimestamp: "2026-01-01T12:00:00Z" });
  return going({ stage: "new", with: { orphans: [pod] } });
}

/** An attempt at the deletion has failed so, and the Job goes on. */
function attemptFailed(reason: "NoSuchBucket"): BackupSnapshot {
  const snapshot = removing("made");
  const { job } = snapshot.removing!;
  return { ...snapshot, removing: { job, pods: [endedPod(job, 1, failure(reason, "no"))] } };
}

/** The object is being verified. @param found what is on record of it */
function verifying(
  stage: Parameters<typeof verification>[1],
  ends?: Parameters<typeof verification>[2],
  found?: "True" | "False",
): BackupSnapshot {
  const told = {
    type: "Verified",
    reason: "Verified",
    message: "",
    observedGeneration: 1,
    lastTransitionTime: "2026-01-01T12:00:00Z",
  };
  const snapshot = verified(found === undefined ? {} : { status: { conditions: [{ ...told, status: found }] } });
  return { ...snapshot, verifying: verification(snapshot, stage, ends) };
}

/** With other metadata on the Job that verifies. */
function ofVerification(snapshot: BackupSnapshot, metadata: object): BackupSnapshot {
  const { job, pods } = snapshot.verifying!;
  return { ...snapshot, verifying: { pods, job: { ...job, metadata: { ...job.metadata, ...metadata } } as Job } };
}

const failedRemoval = removing("failed");
const cases: { name: string; given: BackupSnapshot; expect: string; because?: string | RegExp }[] = [
  { name: "makes the Job", given: backup({ stage: "new" }), expect: "create-job: createJob nightly", because: /^a snapshot of my-etcd is taken, and stored as s3:\/\/backups\/foo/ },
  { name: "makes the Job of an etcd of somebody else", given: backup({ stage: "new", spec: { source: { endpoints: ["http://a:2379"] } }, with: { cluster: undefined } }), expect: "create-job: createJob nightly" },
  { name: "waits while the agent is at work", given: backup(), expect: "wait: await-job", because: "a snapshot is being taken and stored" },
  { name: "waits for the pod", given: backup({ stage: "made" }), expect: "wait: await-job", because: "its pod is not made yet" },
  { name: "warns of a quota", given: backup({ stage: "made", with: { warnings: ["exceeded quota: q"] } }), expect: "warn: await-job", because: "its pod cannot be made: exceeded quota: q" },
  { name: "warns of a Secret that is not there", given: backup({ stage: "starting", with: { warnings: ['MountVolume.SetUp failed: secret "s3" not found'] } }), expect: "warn: await-job", because: /of s3: MountVolume/ },
  { name: "warns of an image that cannot be had", given: backup({ with: { taking: { job, pods: [agentPod(job, { phase: "Pending" }, { waiting: { reason: "ErrImagePull" } })] } } }), expect: "warn: await-job" },
  { name: "gives a Job up that gets no pod in ten minutes", given: later(backup({ stage: "made", with: { warnings: ["exceeded quota: q"] } }), 10 * MINUTE), expect: "warn: backup-failed", because: /^PodRefused: its pod cannot be made: exceeded quota: q; it was waited for 10 minutes$/ },
  { name: "says that it is completed", given: backup({ stage: "succeeded" }), expect: "wait: backup-completed" },
  { name: "says that it has failed", given: backup({ stage: "failed" }), expect: "warn: backup-failed", because: "NoSpace: the bucket is full" },
  { name: "leaves alone what is completed", given: backup({ stage: "succeeded", status: { phase: "Completed" } }), expect: "settled" },
  { name: "leaves alone what has failed", given: backup({ stage: "failed", status: ENDED }), expect: "settled" },
  { name: "makes no Job anew for what has failed", given: backup({ stage: "new", status: ENDED }), expect: "settled" },
  { name: "ends the Job of what was given up", given: backup({ stage: "made", status: ENDED }), expect: "stop-job: deleteJob nightly" },
  { name: "ends a Job once", given: withJob(backup({ status: ENDED }), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "settled" },
  { name: "never ends somebody else's Job", given: withJob(backup({ status: ENDED }), { ownerReferences: [] }), expect: "settled" },
  { name: "warns of a Job of its name that nobody manages", given: withJob(backup(), { ownerReferences: [] }), expect: "warn: job-taken", because: "Job nightly exists already: nobody manages it" },
  { name: "warns of a Job of an earlier backup", given: withJob(backup(), { ownerReferences: [{ kind: "EtcdBackup", name: "nightly", uid: "old", controller: true }] }), expect: "warn: job-taken", because: "EtcdBackup nightly (uid old) manages it" },
  { name: "gives up a name that is taken for ten minutes", given: later(withJob(backup({ status: STARTED }), { ownerReferences: [] }), 10 * MINUTE), expect: "warn: backup-failed", because: /^NameTaken: Job nightly exists already: nobody manages it; it was waited for 10 minutes$/ },
  { name: "waits for a cluster", given: backup({ stage: "new", with: { cluster: undefined } }), expect: "warn: await-source", because: "there is no EtcdCluster my-etcd in this namespace" },
  { name: "waits for a quorum", given: backup({ stage: "new", with: { cluster: available({ conditions: [isAvailable("False", "QuorumLost")] }) } }), expect: "warn: await-source", because: "two of three members answer" },
  { name: "gives a cluster up that is not there in ten minutes", given: later(backup({ stage: "new", status: STARTED, with: { cluster: undefined } }), 10 * MINUTE), expect: "warn: backup-failed", because: /^ClusterNotFound: .*; it was waited for 10 minutes$/ },
  { name: "asks a cluster no more once the Job is made", given: backup({ with: { cluster: undefined } }), expect: "wait: await-job" },
  { name: "waits for the operator's image", given: backup({ stage: "new", with: { agentImage: undefined } }), expect: "warn: await-image", because: "--agent-image" },
  { name: "holds a backup whose object is to go with it", given: backup({ stage: "new", spec: DELETE }), expect: "hold-backup: holdBackup" },
  { name: "then makes its Job", given: backup({ stage: "new", spec: DELETE, held: true }), expect: "create-job: createJob nightly" },
  { name: "refuses an unknown placeholder", given: backup({ stage: "new", spec: { destination: { url: { template: "s3://b/{{ .Foo }}" } } } }), expect: "warn: backup-failed", because: "SpecRefused: spec.destination.url.template has {{ .Foo }}; it may have {{ .Namespace }}" },
  { name: "refuses a member's claim", given: backup({ stage: "new", spec: ON_VOLUME, with: { claim: membersClaim } }), expect: "warn: backup-failed", because: "is for the data of a member of EtcdCluster my-etcd" },
  { name: "stores on a claim that is meant for it", given: backup({ stage: "new", spec: ON_VOLUME, with: { claim: destinationClaim() } }), expect: "create-job: createJob nightly" },
  { name: "waits for a claim that does not say so", given: backup({ stage: "new", spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), expect: "warn: await-claim", because: "kubectl label persistentvolumeclaim backups etcd.improbable.io/backup-destination=true" },
  { name: "waits for a claim that is not there", given: backup({ stage: "new", spec: ON_VOLUME }), expect: "warn: await-claim", because: "there is no such claim in this namespace" },
  { name: "gives a claim up that does not say so in ten minutes", given: later(backup({ stage: "new", status: STARTED, spec: ON_VOLUME }), 10 * MINUTE), expect: "warn: backup-failed", because: /^ClaimNotAllowed: .*; it was waited for 10 minutes$/ },
  { name: "asks a claim no more once the Job is made", given: backup({ spec: ON_VOLUME }), expect: "wait: await-job" },
  { name: "gives a Job up whose claim turns out to be a member's", given: backup({ stage: "starting", spec: ON_VOLUME, with: { claim: membersClaim } }), expect: "warn: backup-failed", because: "SpecRefused: spec.destination.volume.claimName is backups" },
  { name: "deletes no object on a claim that does not say so", given: going({ stage: "succeeded", spec: ON_VOLUME, with: { claim: destinationClaim({}) } }), expect: "warn: await-deletion", because: /^its object is not deleted: ClaimNotAllowed: .*=true; to let the EtcdBackup go and keep volume:/ },
  { name: "deletes the object on a claim that says so", given: going({ stage: "succeeded", spec: ON_VOLUME, with: { claim: destinationClaim() } }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "lets a backup go that keeps its object", given: backup({ deleting: true }), expect: "settled" },
  { name: "makes nothing for a backup that goes", given: backup({ stage: "new", deleting: true }), expect: "settled" },
  { name: "ends the Job before the object is deleted", given: going(), expect: "stop-backup: deleteJob nightly" },
  { name: "waits for a Job that is ending", given: withJob(going(), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "wait: stop-backup", because: "pod nightly-abcde is ending" },
  { name: "waits for pods whose Job is gone", given: going({ stage: "new", with: { orphans: attempt(backup(), "running").pods } }), expect: "wait: stop-backup" },
  { name: "waits two minutes for a pod that is ending", given: later(storingDespite(), 2 * MINUTE - 1), expect: "wait: stop-backup" },
  { name: "then says what people can do about a pod that is lost", given: later(storingDespite(), 2 * MINUTE), expect: "warn: stop-backup", because: /^its object is not deleted: PodPending: pod nightly-abcde was to end and is still there, such as on a node that is lost, and may store something; to let the EtcdBackup go and keep s3:.*keep-object/ },
  { name: "lets go when the bucket is gone", given: { ...failedRemoval, removing: removal(backup(), "failed", failure("NoSuchBucket", "no bucket b")) }, expect: "release-backup: releaseBackup", because: "its object is gone with all that it lay in: no bucket b" },
  { name: "believes no such word of somebody else's Job", given: ofRemoval({ ...failedRemoval, removing: removal(backup(), "failed", failure("NoSuchBucket", "no bucket b")) }, { ownerReferences: [] }), expect: "warn: await-deletion" },
  { name: "believes no such word before its Job has ended", given: attemptFailed("NoSuchBucket"), expect: "warn: await-deletion", because: "an attempt has failed" },
  { name: "deletes the object", given: going({ stage: "succeeded" }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup", because: /^s3:\/\/backups\/.* is deleted before the EtcdBackup goes$/ },
  { name: "deletes the object of what has failed, which may have left a part", given: going({ stage: "failed", status: ENDED }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "deletes the object that was given away, whatever its policy says", given: backup({ stage: "succeeded", status: MADE, deleting: true, held: true, annotations: { [DELETE_OBJECT_ANNOTATION]: "true" } }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "waits for the deletion", given: removing("running"), expect: "wait: await-deletion", because: "its object is being deleted" },
  { name: "gives the pod of the deletion its time", given: removing("starting"), expect: "wait: await-deletion", because: "its object is being deleted" },
  { name: "and all of it", given: later(removing("starting"), 19_999), expect: "wait: await-deletion" },
  { name: "but not for ever", given: later(removing("starting"), 20_000), expect: "warn: await-deletion", because: "PodPending: container agent waits: ContainerCreating" },
  { name: "tells at once what Kubernetes refuses the deletion", given: { ...removing("made"), warnings: ["quota"] }, expect: "warn: await-deletion", because: "PodRefused: its pod cannot be made: quota" },
  { name: "lets go when the object is gone", given: removing("succeeded"), expect: "release-backup: releaseBackup", because: "its object is deleted" },
  { name: "tells what hinders the deletion, and how to go without", given: failedRemoval, expect: "warn: await-deletion", because: /NoSpace: the bucket is full; to let the EtcdBackup go and keep s3:.*keep-object/ },
  { name: "leaves a deletion that has failed alone for ten minutes", given: later(failedRemoval, 10 * MINUTE - 2_001), expect: "warn: await-deletion" },
  { name: "tries a deletion anew after ten minutes", given: later(failedRemoval, 10 * MINUTE - 2_000), expect: "retry-deletion: deleteJob delete-0123456789-uid-of-backup" },
  { name: "tries no deletion anew that goes on", given: later(removing("running"), 20 * MINUTE), expect: "wait: await-deletion" },
  { name: "tries a deletion anew once", given: later(ofRemoval(failedRemoval, { deletionTimestamp: "2026-01-01T12:10:00Z" }), 20 * MINUTE), expect: "warn: await-deletion" },
  { name: "never ends somebody else's deletion", given: later(ofRemoval(failedRemoval, { ownerReferences: [] }), 20 * MINUTE), expect: "warn: await-deletion" },
  { name: "believes no deletion of somebody else's", given: ofRemoval(removing("succeeded"), { ownerReferences: [] }), expect: "wait: await-deletion" },
  { name: "waits for the end of a deletion whose pod has ended", given: endedPodOf(removing("running")), expect: "wait: await-deletion", because: "its object is being deleted" },
  { name: "deletes the object of a Job that is not on record yet", given: going({ stage: "succeeded", status: { phase: "BackingUp" } }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "writes down that its Job was made before it ends it", given: going({ status: { phase: "BackingUp" } }), expect: "wait: stop-backup", because: "that its Job was made is written down before it is ended" },
  { name: "ends a Job that is on record, whatever ran", given: going({ stage: "made" }), expect: "stop-backup: deleteJob nightly" },
  { name: "lets go when the Job of its name is somebody else's", given: withJob(going({ stage: "succeeded", status: { phase: "BackingUp" } }), { ownerReferences: [] }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "leaves somebody else's Job at work", given: withJob(going({ status: { phase: "BackingUp" } }), { ownerReferences: [] }), expect: "release-backup: releaseBackup" },
  { name: "lets go when its spec names no place", given: going({ stage: "new", status: { phase: "Failed" }, spec: { destination: {} } }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "stays when something was stored at a place that its spec does not name any more", given: going({ stage: "new", spec: { destination: {} } }), expect: "warn: await-deletion", because: /^its object is not deleted: SpecRefused: spec.destination is empty; .*keep-object/ },
  { name: "ends a Job whose pod waits for a Secret", given: going({ stage: "starting", status: NOTHING }), expect: "stop-backup: deleteJob nightly" },
  { name: "waits for the pod of such a Job", given: going({ stage: "new", status: NOTHING, with: { orphans: attempt(backup(), "starting").pods } }), expect: "wait: stop-backup" },
  { name: "lets go of what has stored nothing", given: going({ stage: "new", status: NOTHING }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "lets go of what has failed without a pod that ran", given: going({ status: { ...NOTHING, phase: "Failed" }, with: { taking: overdue } }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "writes down that an agent runs before it ends its Job", given: going({ status: NOTHING }), expect: "wait: stop-backup", because: "that its agent has run is written down" },
  { name: "deletes the object of a Job that has completed unseen", given: going({ status: NOTHING, with: { taking: { job: attempt(backup(), "succeeded").job, pods: [] } } }), expect: "wait: stop-backup" },
  {
    name: "leaves a deletion alone that nothing waits for any more",
    given: later({ ...failedRemoval, backup: backup({ status: ENDED, deleting: true }).backup }, 20 * MINUTE),
    expect: "settled",
  },
  { name: "lets go when a person says so", given: { ...failedRemoval, ...backup({ spec: DELETE, deleting: true, held: true, annotations: KEEP }) }, expect: "release-backup: releaseBackup", because: 'keep-object is "true": the object stays, but for what had been deleted by then' },
  { name: "ends a deletion that goes on when a person says so", given: removing("running", { annotations: KEEP }), expect: "stop-deletion: deleteJob delete-0123456789-uid-of-backup", because: "is ended before the EtcdBackup goes, so that the object stays" },
  { name: "waits for the pod of a deletion that is ending", given: ofRemoval(removing("running", { annotations: KEEP }), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "wait: stop-deletion", because: "is ending; until then it may delete something" },
  { name: "waits for the pod of a deletion whose Job is gone", given: going({ stage: "succeeded", annotations: KEEP, with: { orphans: removal(backup(), "running").pods } }), expect: "wait: stop-deletion" },
  { name: "waits for the pod of a deletion for two minutes", given: keptDespite(2 * MINUTE - 1), expect: "wait: stop-deletion" },
  { name: "but not for ever, such as on a lost node", given: keptDespite(2 * MINUTE), expect: "release-backup: releaseBackup" },
  { name: "waits for no pod that stores when the object stays", given: going({ annotations: KEEP, with: { orphans: attempt(backup(), "running").pods } }), expect: "release-backup: releaseBackup" },
  { name: "ends no deletion that has failed when the object stays", given: removing("failed", { annotations: KEEP }), expect: "release-backup: releaseBackup" },
  { name: "ends no deletion of somebody else's when the object stays", given: ofRemoval(removing("made", { annotations: KEEP }), { ownerReferences: [] }), expect: "release-backup: releaseBackup" },
  { name: "says of what is deleted already that it is", given: removing("succeeded", { annotations: KEEP }), expect: "release-backup: releaseBackup", because: "its object is deleted" },
  { name: "leaves a deletion alone that nothing waits for, whatever a person says", given: { ...removing("running"), backup: backup({ deleting: true, annotations: KEEP }).backup }, expect: "settled" },
  { name: "lets go when there was never a Job", given: going({ stage: "new", status: { phase: "BackingUp" } }), expect: "release-backup: releaseBackup", because: "nothing was ever stored" },
  { name: "deletes the object of a Job that is gone", given: going({ stage: "new" }), expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "tells that no Job can be made to delete it", given: going({ stage: "new", with: { agentImage: undefined } }), expect: "warn: await-deletion", because: "no Job can be made for it" },
  { name: "verifies what is completed", given: verified(), expect: "verify-object: createVerificationJob verify-0123456789-uid-of-backup", because: /^spec.verify is true: an etcd is made of s3:/ },
  { name: "verifies no object of which the release is not known", given: verified({ status: { object: undefined } as never }), expect: "warn: await-verification", because: /^the object is not verified: AgentFailed: which release/ },
  { name: "verifies nothing on a claim that does not say so", given: verified({ spec: ON_VOLUME }), expect: "warn: await-verification", because: "claimName is backups" },
  { name: "verifies nothing without an image", given: verified({ with: { agentImage: undefined } }), expect: "warn: await-verification", because: "--agent-image" },
  { name: "verifies nothing at a place that is not understood", given: verified({ stage: "new", spec: { destination: {} } }), expect: "warn: await-verification", because: "SpecRefused: spec.destination is empty" },
  { name: "waits for the verification", given: verifying("running"), expect: "wait: await-verification", because: "the object is fetched, and an etcd is made of it" },
  { name: "waits for the pod of the verification", given: verifying("starting"), expect: "wait: await-verification", because: "ContainerCreating" },
  { name: "warns of what hinders the verification", given: { ...verifying("made"), warnings: ["quota"] }, expect: "warn: await-verification", because: "its pod cannot be made: quota" },
  { name: "says that the object is right", given: verifying("succeeded"), expect: "wait: await-verification", because: "7 keys" },
  { name: "says that it is not", given: verifying("failed", { verify: [2, failure("VerificationFailed", "no")] }), expect: "warn: await-verification", because: "the object is not verified: VerificationFailed: no" },
  { name: "leaves alone what is verified", given: verifying("succeeded", undefined, "True"), expect: "settled" },
  { name: "ends a verification that was given up", given: verifying("made", undefined, "False"), expect: "stop-verification: deleteJob verify-0123456789-uid-of-backup" },
  { name: "ends it once", given: ofVerification(verifying("made", undefined, "False"), { deletionTimestamp: "2026-01-01T12:00:00Z" }), expect: "settled" },
  { name: "never ends somebody else's", given: ofVerification(verifying("made", undefined, "False"), { ownerReferences: [] }), expect: "settled" },
  { name: "ends a verification that nobody asks for any more", given: { ...verifying("made"), backup: verified({ spec: { verify: false } }).backup }, expect: "stop-verification: deleteJob verify-0123456789-uid-of-backup" },
  { name: "ends no verification of what has not ended", given: { ...verifying("made"), backup: verified({ status: { phase: "BackingUp" } }).backup }, expect: "wait: backup-completed" },
  { name: "deletes the object while it is verified", given: { ...verifying("running"), ...going({ stage: "succeeded", spec: { verify: true } }), verifying: verifying("running").verifying }, expect: "delete-object: createDeletionJob delete-0123456789-uid-of-backup" },
  { name: "says why an attempt has failed", given: backup({ stage: "made", with: { taking: { job, pods: [endedPod(job, 1, FULL)] } } }), expect: "warn: await-job", because: "an attempt has failed, another one follows: NoSpace: the bucket is full" },
  { name: "makes the Job of an archive anew whose cluster has gone over to TLS", given: { ...backup({ spec: { archive: {} } }), cluster: overTls() }, expect: "renew-job: deleteJob nightly", because: "Job nightly is made anew: EtcdCluster my-etcd is asked over TLS" },
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

test("backup plan: of what is not to be verified, or not yet, no rule so much as thinks of it", () => {
  const quiet = [verified({ spec: { verify: false } }), verifying("succeeded", undefined, "True")];
  for (const snapshot of quiet) expect(planBackup({ ...snapshot, verifying: undefined })).toEqual({ next: "settled" });
  expect(planBackup(verified({ stage: "running", status: { phase: "BackingUp" } }))).not.toHaveProperty("aside");
});

test("backup plan: a Job that is refused is told, and nothing is waited for", () => {
  const plan = planBackup(backup({ stage: "new" }), () => ({ because: "quota", forMs: 1_000, isBrief: false }));
  expect(plan).toMatchObject({
    next: "settled",
    aside: [{ rule: "create-job", because: "quota" }],
    recheckAfterMs: 1_000,
  });
});

test("backup plan: an EtcdBackup stays while the deletion of what is to be kept cannot be ended", () => {
  const given = removing("running", { annotations: KEEP });
  const plan = planBackup(given, () => ({ because: "no", forMs: 1_000, isBrief: false }));
  expect(planText(plan, stepText)).toBe("wait: stop-deletion");
});

test("backup plan: every rule decides at least one of the cases above", () => {
  const deciding = new Set(
    cases.map(({ given }) => planBackup(given)).flatMap((plan) => (plan.next === "settled" ? [] : [plan.rule])),
  );
  // These two decide by settling, which leaves no name.
  const silent = ["deleting", "ended"];
  expect(BACKUP_RULES.map(({ name }) => name).filter((name) => !deciding.has(name) && !silent.includes(name))).toEqual(
    [],
  );
});
