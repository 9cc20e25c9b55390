import type { FailureReason } from "#agent/report.ts";
import { isReportDue, reportedFailure, stateOf } from "#agent-job/job-state.ts";
import type { BackupReason } from "#api/conditions.ts";
import { SCHEDULE_LABEL } from "#api/names.ts";
import { lackOfClaim } from "#backup/claim.ts";
import { type BackupSnapshot, isDeleting, ownOf } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import { troubleOf } from "#backup/trouble.ts";
import { failureOf } from "#backup/verdict.ts";
import { partOf } from "#base/hash.ts";
import { lackingIn, type Plan } from "#runtime/decide.ts";

// Does the backup still exist?
//   A person or a lifecycle rule may delete objects in the bucket. So once a day a Job looks for the objects of the two
//   newest backups of each schedule. It reads only the manifest and the size of the object.
// What if an object is gone?
//   The backup no longer counts as good. Nothing is deleted because of that, and the next check may find it again.
// What if the check cannot be made?
//   An unreachable store or wrong credentials prove nothing: the earlier result stays, and the next day has another check.

/** Result of a check that is not recorded yet. */
export interface CheckOutcome extends Lack {
  /** Whether object and manifest are stored. Unknown: the check could not be made. */
  readonly status: "True" | "False" | "Unknown";
  /** Uid of the Job that made the check; undefined when no Job could be created. */
  readonly jobUID?: string;
}

const DAY_MS = 24 * 3_600_000;
/**
 * How long a check may take with all its attempts, in milliseconds. If smaller, a store that is away for some minutes
 * costs the daily check. If larger, a pod that cannot start delays other backups for longer.
 */
export const CHECK_WITHIN_MS = 30 * 60_000;

/** Reasons of the agent that mean that the object cannot be restored from its place. */
const GONE = ["NoSuchObject", "SnapshotCorrupt", "NoSuchBucket"] as const satisfies readonly BackupReason[];

/**
 * Whether the daily check must still be made. Each schedule has its own time of the day, so that checks are spread
 * over the day. All backups of a schedule share that time, so that frequent backups cause no more checks.
 */
export function isCheckDue(snapshot: Pick<BackupSnapshot, "backup" | "takenAtMs" | "isNewest">): boolean {
  const { metadata, status } = snapshot.backup;
  if (!snapshot.isNewest || status?.phase !== "Completed" || isDeleting(snapshot)) return false;
  const atMs = Math.round(DAY_MS * partOf(`${metadata.namespace}/${metadata.labels?.[SCHEDULE_LABEL]}`));
  const dueMs = Math.floor((snapshot.takenAtMs - atMs) / DAY_MS) * DAY_MS + atMs;
  const lastMs = Date.parse(status.objectCheck?.time ?? status.completionTime ?? "");
  // A later time was recorded by a wrong clock.
  return !(lastMs >= dueMs && lastMs <= snapshot.takenAtMs + DAY_MS);
}

/** Why no Job can be created for the check; `undefined` when one can. Any Job of that name prevents it. */
export function lackOfCheck(snapshot: BackupSnapshot): Lack | undefined {
  const { checking, agentImage } = snapshot;
  if (checking !== undefined)
    return { reason: "NameTaken", message: `Job ${checking.job.metadata.name} has another owner` };
  if (agentImage === undefined)
    return { reason: "Waiting", message: "the operator does not know its own image (--agent-image)" };
  const target = targetOf(snapshot);
  return typeof target === "string" ? { reason: "SpecRefused", message: target } : lackOfClaim(snapshot);
}

/** Whether the status has the result of the Job. */
export function isCheckRecorded({ backup, checking }: Pick<BackupSnapshot, "backup" | "checking">): boolean {
  return checking !== undefined && backup.status?.objectCheck?.jobUID === checking.job.metadata.uid;
}

/** The result to be recorded; `undefined` when there is none, or the check is in progress. */
export function checkOutcomeOf(snapshot: BackupSnapshot): CheckOutcome | undefined {
  const own = ownOf(snapshot, snapshot.checking);
  if (own === undefined) {
    const lack = isCheckDue(snapshot) ? lackOfCheck(snapshot) : undefined;
    return lack && { status: "Unknown", ...lack };
  }
  const { uid: jobUID, creationTimestamp = "" } = own.job.metadata;
  if (isCheckRecorded(snapshot)) return undefined;
  const state = stateOf(own);
  if (state === "active") {
    if (snapshot.takenAtMs - Date.parse(creationTimestamp) < CHECK_WITHIN_MS) return undefined;
    const { reason, message } = troubleOf(snapshot, own) ?? {
      reason: "DeadlineExceeded",
      message: `the pod of Job ${own.job.metadata.name} has not ended within half an hour`,
    };
    return { status: "Unknown", reason, message, jobUID };
  }
  if (isReportDue(snapshot, own)) return undefined;
  if (state === "succeeded")
    return { status: "True", reason: "ObjectFound", message: "the object and its manifest are stored", jobUID };
  const report = reportedFailure(own);
  if (report !== undefined && isGone(report.reason))
    return { status: "False", reason: report.reason, message: report.message, jobUID };
  const { reason, message } = failureOf(snapshot, own);
  return { status: "Unknown", reason, message, jobUID };
}

/** The result when the API server has refused the Job for a while, for example because of a quota. */
export function checkAfterRefusal(snapshot: BackupSnapshot, plan: Plan<unknown>): CheckOutcome | undefined {
  const refusal = lackingIn({ ...plan, reports: plan.reports?.filter(({ rule }) => rule === "check-object") ?? [] });
  if (refusal === undefined || !isCheckDue(snapshot) || snapshot.checking !== undefined) return undefined;
  const { triedForMs = Number.NaN } = refusal;
  if (!(triedForMs >= CHECK_WITHIN_MS)) return undefined;
  return { status: "Unknown", reason: "StepRefused", message: refusal.because };
}

function isGone(reason: FailureReason): reason is (typeof GONE)[number] {
  return (GONE as readonly FailureReason[]).includes(reason);
}
