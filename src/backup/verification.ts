import { type FailureReason, isOfReplay, type ReplayFailureReason } from "#agent/report.ts";
import {
  type Attempted,
  endedAtMs,
  failedBecause,
  isReportDue,
  lastEnded,
  reportedFailure,
  reportOf,
  stateOf,
  statusesOf,
  VERIFIERS,
  workingPod,
} from "#agent-job/job-state.ts";
import { endText } from "#agent-job/pod-trouble.ts";
import type { BackupReason } from "#api/conditions.ts";
import { provesDefect } from "#api/defect.ts";
import { ETCD_CONTAINER, ETCDUTL_CONTAINER, VERIFY_CONTAINER } from "#api/names.ts";
import { lackOfClaim } from "#backup/claim.ts";
import { type BackupSnapshot, isOwned, isToBeVerified } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import { troubleOf } from "#backup/trouble.ts";
import { doublingPauseMs } from "#base/backoff.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { lastLine } from "#kube/words.ts";

/** Result of the stored object's verification so far. */
export interface Verification extends Lack {
  readonly status: "True" | "False" | "Unknown";
  readonly revision?: string;
  readonly keys?: number;
}

// When does a verification prove that an object is defective?
//   Only when the agent reports a defect of the data, or etcdutl rejects the checksum. When a node, quota, store or key
//   prevents a verification, nothing is proved about the object: the verification is tried again.

/**
 * Time since the request during which a verification that cannot run is tried again, in milliseconds. If smaller, an
 * outage of a night leaves backups unverified. If larger, retention keeps more, since a backup with a pending
 * verification does not replace an older one.
 */
export const VERIFY_WITHIN_MS = 24 * 3_600_000;
/**
 * Least pause after a failed Job, in milliseconds; its pods have tried five times. Later pauses are as long as the time
 * since the request: 10, 20, 40 minutes and so on.
 */
const LEAST_PAUSE_MS = 10 * 60_000;

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

/** State when the API server refuses the Job, for example because of a quota. */
export function verificationAfterRefusal(snapshot: BackupSnapshot, lack: Lack): Verification {
  return awaited(snapshot, lack);
}

/**
 * When the failed Job of a verification that proved nothing is replaced, in milliseconds since 1970; `undefined` when
 * it is not.
 */
export function nextAttemptMs(snapshot: BackupSnapshot): number | undefined {
  const { verifying } = snapshot;
  if (!isToBeVerified(snapshot) || verifying === undefined || !isOwned(snapshot, verifying.job)) return undefined;
  if (stateOf(verifying) !== "failed" || isReportDue(snapshot, verifying)) return undefined;
  if (provesDefect(failureOf(verifying).reason)) return undefined;
  const failedMs = endedAtMs(verifying);
  if (Number.isNaN(failedMs)) return undefined;
  return failedMs + doublingPauseMs(failedMs - startMs(snapshot), { leastMs: LEAST_PAUSE_MS });
}

const VERIFYING = { status: "Unknown", reason: "Verifying" } as const;

/**
 * Image of the etcd release that was backed up, from the cluster's own repository; `undefined` when the release is
 * unknown. While the cluster has that release, it is the cluster's own image.
 */
export function etcdImageOf({ backup, cluster, imageRepository }: BackupSnapshot): string | undefined {
  const version = backup.status?.object?.etcdVersion;
  if (version === undefined) return undefined;
  const { repository = imageRepository, digest } = cluster?.spec.image ?? {};
  // With a cloud identity, only releases of known repositories may run.
  const hasIdentity = (backup.spec.podTemplate?.spec?.serviceAccountName ?? "default") !== "default";
  const isSame = digest !== undefined && cluster?.spec.version === version && !hasIdentity;
  return isSame ? `${repository}@${digest}` : `${repository}:v${version}`;
}

function ofJob(snapshot: BackupSnapshot, verifying: Attempted): Verification {
  const state = stateOf(verifying);
  if (state === "active") {
    const trouble = troubleOf(snapshot, verifying, VERIFIERS);
    if (trouble === undefined || trouble.reason === "BackingUp") {
      const message = whyEtcdEnded(verifying) ?? "the object is fetched and restored to a throw-away etcd";
      return { ...VERIFYING, message };
    }
    return awaited(snapshot, trouble, "", Date.parse(verifying.job.metadata.creationTimestamp ?? ""));
  }
  if (isReportDue(snapshot, verifying))
    return { ...VERIFYING, message: "its Job has ended; the report of its pod is awaited" };
  if (state === "failed") {
    const failure = failureOf(verifying);
    if (provesDefect(failure.reason)) return failed(failure);
    const nextMs = nextAttemptMs(snapshot);
    const isNext = nextMs !== undefined && nextMs < verifiedUntilMs(snapshot);
    const next = isNext ? `; the next attempt is at ${rfc3339(nextMs)}` : "";
    return awaited(snapshot, failure, next);
  }
  const report = reportOf(verifying, VERIFY_CONTAINER);
  const message = "the data is right; its pod's report, which describes what was compared, is lost";
  if (report?.ok !== true || report.kind !== "verify") return { status: "True", reason: "Verified", message };
  const { revision, keys } = report;
  return { status: "True", reason: "Verified", message: report.message, revision, keys };
}

/** How the throw-away etcd ended last; `undefined` when it has not. The kubelet starts it again until its pod ends. */
function whyEtcdEnded(verifying: Attempted): string | undefined {
  const pod = workingPod(verifying);
  const [etcd] = pod === undefined ? [] : statusesOf(pod, [ETCD_CONTAINER]);
  const last = etcd?.lastState?.terminated;
  if (pod === undefined || last === undefined) return undefined;
  const remedy =
    last.reason === "OOMKilled" ? "; set more memory in spec.podTemplate.spec.etcdResources of the next backup" : "";
  return `the restored etcd in pod ${pod.metadata.name} ended with exit code ${last.exitCode} (${last.reason}), and the kubelet restarts it${remedy}`;
}

/**
 * Output of etcdutl when the snapshot does not match etcd's checksum, or has none:
 * https://github.com/etcd-io/etcd/blob/v3.6.16/etcdutl/snapshot/v3_snapshot.go
 */
const REJECTED = /expected sha256|snapshot missing hash/;
/** Exit code of etcdutl after such a failure. Container runtimes have others, and paths with sha256 in their messages. */
const REFUSAL_CODE = 1;

/** Why it failed, from the report of the agent or the output of etcdutl. */
function failureOf({ job, pods }: Attempted): Lack {
  const report = reportedFailure({ job, pods }, VERIFIERS);
  if (report !== undefined && isOfVerification(report.reason))
    return { reason: report.reason, message: report.message };
  const last = lastEnded(pods);
  const [tool] = last === undefined ? [] : statusesOf(last, [ETCDUTL_CONTAINER]);
  const { exitCode = 0, message = "", reason } = tool?.state?.terminated ?? {};
  if (exitCode !== 0) {
    const line = lastLine(message);
    if (exitCode === REFUSAL_CODE && line !== undefined && REJECTED.test(line))
      return { reason: "RestoreToolFailed", message: line };
    const how = `etcdutl ended with exit code ${exitCode} (${reason})`;
    return { reason: "AgentFailed", message: line === undefined ? how : `${how}: ${line}` };
  }
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

/**
 * Pending, or given up after VERIFY_WITHIN_MS.
 * @param next added to the message while it is pending
 * @param jobMs creation of an active Job. After a day without an operator, a new Job still has a day.
 */
function awaited(snapshot: BackupSnapshot, lack: Lack, next = "", jobMs = Number.NaN): Verification {
  const sinceMs = Number.isNaN(jobMs) ? startMs(snapshot) : Math.max(startMs(snapshot), jobMs);
  if (snapshot.takenAtMs - sinceMs < VERIFY_WITHIN_MS)
    return { status: "Unknown", reason: lack.reason, message: lack.message + next };
  return failed(lack, `; the object could not be verified for ${VERIFY_WITHIN_MS / 3_600_000} hours`);
}

/** When a verification that cannot run is given up, in milliseconds since 1970. */
export function verifiedUntilMs(snapshot: BackupSnapshot): number {
  return startMs(snapshot) + VERIFY_WITHIN_MS;
}

/** When the operator first observed the request, according to the status. */
function startMs({ backup, takenAtMs }: BackupSnapshot): number {
  const { startTime } = backup.status?.verification ?? {};
  return startTime === undefined ? takenAtMs : Date.parse(startTime);
}
