import { conditionOf } from "#agent-job/job-state.ts";
import { BACKUP_LABEL, backupJobName, checkJobName } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { isOneMoreLeft } from "#base/places-left.ts";
import { controllerOf, type Job } from "#kube/kinds.ts";

// Why is there a bound?
//   A thousand schedules with the same time would create a thousand pods in the same second.
// Which backups count as running?
//   Jobs with a Ready pod, and young Jobs, since their pod is about to start. A pod that cannot start delays other
//   backups only for a minute. An agent without progress ends by itself after five minutes.
// Which do not?
//   Archives, which run for years. Verifications and deletions: they wait for nothing.
// Do daily checks count?
//   They count and wait like backups, since a start of the operator may make many of them due.

/** Number of running backups, and how many of them there may be. */
export interface Running {
  readonly all: number;
  /** Those in the namespace of the EtcdBackup that is decided about. */
  readonly inNamespace: number;
  /** The flag --running-backups. */
  readonly most: number;
}

/** Running backups by their namespaces. A namespace counts for at most two thirds of `most`, whatever Jobs it has. */
export function countRunning(namespaces: readonly string[], namespace: string, most: number): Running {
  const counts = Map.groupBy(namespaces, (each) => each)
    .values()
    .map(({ length }) => Math.min(length, Math.ceil((2 * most) / 3)));
  const all = counts.reduce((sum, each) => sum + each, 0);
  return { all, inNamespace: namespaces.filter((each) => each === namespace).length, most };
}

/** Whether another backup of the namespace must wait. One namespace alone gets up to two thirds of all places. */
export function isFull({ all, inNamespace, most }: Running): boolean {
  return !isOneMoreLeft(inNamespace, most - all, most);
}

/** Index of the Jobs that take a snapshot, archive changes or check an object, and have not ended. */
export const OPEN_INDEX = "open";
/** The only value in that index. */
export const OPEN = "Job";

/** Values of a Job in that index. */
export function openIndexOf(job: Job): readonly string[] {
  const { metadata, status } = job;
  const name = metadata.labels?.[BACKUP_LABEL];
  const hasEnded = ["Complete", "Failed"].some((type) => conditionOf(status, type) !== undefined);
  const isCheck = metadata.name === checkJobName(controllerOf(job)?.uid ?? "");
  return name === undefined || !(metadata.name === backupJobName(name) || isCheck) || hasEnded ? [] : [OPEN];
}

/**
 * How long a new Job counts without a Ready pod, in milliseconds. If smaller, more backups than allowed start while
 * nodes pull the image. If larger, pods that cannot start delay the backups of others for longer.
 */
export const YOUNG_MS = 60_000;
/**
 * How long a Job counts at most, in milliseconds: a pod may hang. If smaller, a slow backup of 8 GiB no longer counts
 * while it runs. If larger, pods that hang delay other backups for longer.
 */
export const LONGEST_MS = 60 * 60_000;

/** Whether the open Job counts. @param backup the EtcdBackup that its label names */
export function isRunning(job: Job, backup: EtcdBackup | undefined, nowMs: number): boolean {
  if (backup === undefined || backup.spec.archive !== undefined) return false;
  if (controllerOf(job)?.uid !== backup.metadata.uid) return false;
  // Absolute value: with a clock far behind, every Job would count for ever.
  const ageMs = Math.abs(nowMs - Date.parse(job.metadata.creationTimestamp ?? ""));
  return ageMs < YOUNG_MS || ((job.status?.ready ?? 0) > 0 && ageMs < LONGEST_MS);
}
