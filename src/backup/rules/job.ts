import { stateOf } from "#agent-job/job-state.ts";
import { backupJob } from "#backup/desired/job.ts";
import { lackOfName } from "#backup/name.ts";
import { isToBeRenewed, otherReach } from "#backup/reach.ts";
import { isFull } from "#backup/running.ts";
import { isHeld } from "#backup/snapshot.ts";
import { lackOfSource, sourceText } from "#backup/source.ts";
import type { BackupRule } from "#backup/step.ts";
import { targetOf } from "#backup/target.ts";
import { verdictOf } from "#backup/verdict.ts";
import { partOf } from "#base/hash.ts";
import { step, wait } from "#runtime/decide.ts";

/** Recheck interval for a foreign Job, in milliseconds; Jobs of an earlier EtcdBackup have events of their own. */
const JOB_TAKEN_RECHECK_MS = 10_000;

/**
 * Waits while a Job with another owner has the name; it is never adopted. A Job of an earlier EtcdBackup of this name
 * is being deleted.
 */
export const jobTaken: BackupRule = {
  name: "job-taken",
  decide(snapshot) {
    const lack = lackOfName(snapshot);
    return lack === undefined ? undefined : wait(lack.message, JOB_TAKEN_RECHECK_MS, { warn: true });
  },
};

/** Waits for the flag --agent-image: the Job runs the operator's own image. */
export const awaitImage: BackupRule = {
  name: "await-image",
  decide({ agentImage }) {
    if (agentImage !== undefined) return undefined;
    const because = "the operator does not know its own image, which the Job runs: set --agent-image";
    return wait(because, 60_000, { warn: true });
  },
};

/**
 * Sets a finalizer when spec.deletionPolicy is Delete: it keeps the EtcdBackup until its object is deleted. It is set
 * before any object can exist.
 */
export const holdBackup: BackupRule = {
  name: "hold-backup",
  holds: true,
  decide(snapshot) {
    if (snapshot.backup.spec.deletionPolicy !== "Delete" || isHeld(snapshot)) return undefined;
    const because = "spec.deletionPolicy is Delete: the EtcdBackup is kept until its object is deleted";
    return step(because, { do: "holdBackup" });
  },
};

/**
 * Shortest and longest recheck interval, in milliseconds; each EtcdBackup has its own, so that they do not all recheck
 * at once. If larger, a place stays empty for longer. If smaller, a thousand waiting backups cause constant work.
 */
const AWAIT_TURN_RECHECK_MS = { least: 10_000, most: 20_000 };

/**
 * Waits while as many backups run as --running-backups allows. The wait counts toward no time limit, unless the Job was
 * refused before.
 */
export const awaitTurn: BackupRule = {
  name: "await-turn",
  decide(snapshot) {
    const { running, backup } = snapshot;
    if (running === undefined || !isFull(running)) return undefined;
    // Without the number of running backups: each change would cause a write of every waiting status.
    const because = `the backup waits until other backups end: at most ${running.most} run at the same time (--running-backups), two thirds of them in one namespace`;
    const { least, most } = AWAIT_TURN_RECHECK_MS;
    return wait(because, Math.round(least + (most - least) * partOf(backup.metadata.uid)));
  },
};

/**
 * Creates the Job that takes the snapshot; it retries when its pod is lost. A Job that a user deleted is created again:
 * its agent continues from what is stored.
 */
export const createJob: BackupRule = {
  name: "create-job",
  decide(snapshot) {
    const { taking, agentImage } = snapshot;
    const target = targetOf(snapshot);
    if (taking !== undefined || agentImage === undefined || typeof target === "string") return undefined;
    const because = `a snapshot of ${sourceText(snapshot)} is taken, and stored as ${target.url}`;
    return step(because, { do: "createJob", job: backupJob(snapshot, target, agentImage) });
  },
};

/**
 * Replaces a Job when the cluster has switched to or from TLS, or to another certificate provider. An archive continues
 * where it was; a running snapshot is left alone, and taken again only if it fails.
 */
export const renewJob: BackupRule = {
  name: "renew-job",
  decide(snapshot) {
    const { taking } = snapshot;
    if (taking === undefined || taking.job.metadata.deletionTimestamp !== undefined) return undefined;
    if (!isToBeRenewed(snapshot, taking)) return undefined;
    // An existing Job is not deleted for a new one that cannot be created. Its claim is there, since its pod mounts it.
    if (stateOf(taking) === "active" && lackOfSource(snapshot) !== undefined) return undefined;
    const because = `Job ${taking.job.metadata.name} is replaced: ${otherReach(snapshot)}`;
    return step(because, { do: "deleteJob", job: taking.job });
  },
};

/** Interval of requests to the agent for its progress, and to Kubernetes for warnings, in milliseconds. */
const AWAIT_JOB_RECHECK_MS = 10_000;

/** Waits for the Job, and shows the agent's progress or what keeps its pod from running. */
export const awaitJob: BackupRule = {
  name: "await-job",
  decide(snapshot) {
    if (snapshot.taking === undefined) return undefined;
    const { reason, message } = verdictOf(snapshot);
    const isTrouble = ["PodRefused", "SecretMissing", "ImageUnavailable", "Retrying"].includes(reason);
    return wait(message, AWAIT_JOB_RECHECK_MS, { warn: isTrouble });
  },
};
