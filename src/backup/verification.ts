import { type FailureReason, isOfReplay, type ReplayFailureReason } from "#agent/report.ts";
import {
  type Attempted,
  failedBecause,
  idleSince,
  isReportDue,
  lastEnded,
  reportedFailure,
  reportOf,
  stateOf,
  statusesOf,
  VERIFIERS,
} from "#agent-job/job-state.ts";
import { endText } from "#agent-job/pod-trouble.ts";
import type { BackupReason } from "#api/conditions.ts";
import { ETCDUTL_CONTAINER, VERIFY_CONTAINER } from "#api/names.ts";
import { lackOfClaim } from "#backup/claim.ts";
import { type BackupSnapshot, isOwned, isToBeVerified } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import { troubleOf } from "#backup/trouble.ts";
import { PATIENCE_MS } from "#backup/verdict.ts";
import { lastLine } from "#kube/words.ts";

/** Result of the stored object's verification so far. */
export interface Verification extends Lack {
  readonly status: "True" | "False" | "Unknown";
  readonly revision?: string;
  readonly keys?: number;
}

/** State of the verification; `undefined` when spec.verification.mode is not Restore, there is no object, or it is over. */
export function verificationOf(snapshot: BackupSnapshot): Verification | undefined {
  if (!isToBeVerified(snapshot)) return undefined;
  const { verifying } = snapshot;
  if (verifying !== undefined && isOwned(snapshot, verifying.job)) return ofJob(snapshot, verifying);
  const target = targetOf(snapshot);
  if (typeof target === "string") return failed({ reason: "SpecRefused", message: target });
  if (etcdImageOf(snapshot) === undefined) {
    const message = "the etcd release of the backup is unknown, since the report of its pod is lost";
    return failed({ reason: "AgentFailed", message });
  }
  if (verifying !== undefined)
    return awaited(snapshot, { reason: "NameTaken", message: `Job ${verifying.job.metadata.name} has another owner` });
  if (snapshot.agentImage === undefined)
    return {
      status: "Unknown",
      reason: "Waiting",
      message: "the operator does not know its own image (--agent-image)",
    };
  const lack = lackOfClaim(snapshot);
  return lack === undefined ? { ...VERIFYING, message: "its Job is created next" } : awaited(snapshot, lack);
}

/**
 * Result when the Job is refused: pending up to PATIENCE_MS, since users can fix the cause. @param triedForMs how long
 * the Job has been refused
 */
export function verificationAfterRefusal(snapshot: BackupSnapshot, lack: Lack, triedForMs: number): Verification {
  return awaited(snapshot, lack, snapshot.takenAtMs - triedForMs);
}

const VERIFYING = { status: "Unknown", reason: "Verifying" } as const;

/**
 * Image of the etcd release that was backed up, from the cluster's own repository; `undefined` when the release is
 * unknown.
 */
export function etcdImageOf({ backup, cluster, imageRepository }: BackupSnapshot): string | undefined {
  const version = backup.status?.object?.etcdVersion;
  const repository = cluster?.spec.image?.repository ?? imageRepository;
  return version === undefined ? undefined : `${repository}:v${version}`;
}

function ofJob(snapshot: BackupSnapshot, verifying: Attempted): Verification {
  const state = stateOf(verifying.job);
  if (state === "active") {
    const trouble = troubleOf(snapshot, verifying, VERIFIERS);
    if (trouble === undefined || trouble.reason === "BackingUp")
      return { ...VERIFYING, message: "the object is fetched and restored to a throw-away etcd" };
    return awaited(snapshot, trouble, idleSince(verifying, VERIFIERS));
  }
  // The result is final.
  if (isReportDue(snapshot, verifying))
    return { ...VERIFYING, message: "its Job has ended; the report of its pod is awaited" };
  if (state === "failed") return failed(failureOf(verifying));
  const report = reportOf(verifying, VERIFY_CONTAINER);
  const message = "the data is right; its pod's report, which describes what was compared, is lost";
  if (report?.ok !== true || report.kind !== "verify") return { status: "True", reason: "Verified", message };
  const { revision, keys } = report;
  return { status: "True", reason: "Verified", message: report.message, revision, keys };
}

/** Why it failed, from the report of the agent or the output of etcdutl. */
function failureOf({ job, pods }: Attempted): Lack {
  const report = reportedFailure({ job, pods }, VERIFIERS);
  if (report !== undefined && isOfVerification(report.reason))
    return { reason: report.reason, message: report.message };
  const last = lastEnded(pods);
  const [tool] = last === undefined ? [] : statusesOf(last, [ETCDUTL_CONTAINER]);
  const { exitCode = 0, message, reason } = tool?.state?.terminated ?? {};
  if (exitCode !== 0)
    return {
      reason: "RestoreToolFailed",
      message: lastLine(message ?? "") ?? `etcdutl ended with code ${exitCode} (${reason})`,
    };
  const because = failedBecause(job);
  const how =
    last === undefined ? `Job ${job.metadata.name}: ${because.message} (${because.reason})` : endText(last, VERIFIERS);
  return { reason: "AgentFailed", message: `its pod left no report: ${how}` };
}

/** Whether a verification can fail with this reason: it moves no data into place. */
function isOfVerification(reason: FailureReason): reason is Exclude<FailureReason, "DataExists" | ReplayFailureReason> {
  return reason !== "DataExists" && !isOfReplay(reason);
}

function failed({ reason, message }: Lack, more = ""): Verification {
  return { status: "False", reason: reason satisfies BackupReason, message: message + more };
}

/** @param sinceMs by default the first observation recorded in the status; NaN never times out */
function awaited(snapshot: BackupSnapshot, lack: Lack, sinceMs = startMs(snapshot)): Verification {
  return snapshot.takenAtMs - sinceMs >= PATIENCE_MS
    ? failed(lack, `; it was waited for ${PATIENCE_MS / 60_000} minutes`)
    : { status: "Unknown", ...lack };
}

function startMs({ backup, takenAtMs }: BackupSnapshot): number {
  const { startTime } = backup.status?.verification ?? {};
  return startTime === undefined ? takenAtMs : Date.parse(startTime);
}
