import { type FailureReason, isOfReplay, type ReplayFailureReason } from "#agent/report.ts";
import type { BackupReason } from "#api/conditions.ts";
import { ETCDUTL_CONTAINER, VERIFY_CONTAINER } from "#api/names.ts";
import { lackOfClaim } from "#backup/claim.ts";
import {
  failedBecause,
  idleSince,
  isReportDue,
  lastEnded,
  reportedFailure,
  reportOf,
  stateOf,
  statusesOf,
  VERIFIERS,
} from "#backup/job-state.ts";
import { type Attempted, type BackupSnapshot, isOwned, isToBeVerified } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import { endText, troubleOf } from "#backup/trouble.ts";
import { PATIENCE_MS } from "#backup/verdict.ts";

/** What is to be said of the stored object by now. */
export interface Verification extends Lack {
  readonly status: "True" | "False" | "Unknown";
  readonly revision?: string;
  readonly keys?: number;
}

/** How its verification is doing; `undefined` when nobody asked for it, there is no object, or it is over. */
export function verificationOf(snapshot: BackupSnapshot): Verification | undefined {
  if (!isToBeVerified(snapshot)) return undefined;
  const { verifying } = snapshot;
  if (verifying !== undefined && isOwned(snapshot, verifying.job)) return ofJob(snapshot, verifying);
  const target = targetOf(snapshot);
  if (typeof target === "string") return failed({ reason: "SpecRefused", message: target });
  if (etcdImageOf(snapshot) === undefined) {
    const message = "which release of etcd was read is not known, since the report of the backup's pod is lost";
    return failed({ reason: "AgentFailed", message });
  }
  if (verifying !== undefined)
    return awaited(snapshot, { reason: "NameTaken", message: `Job ${verifying.job.metadata.name} is somebody else's` });
  if (snapshot.agentImage === undefined)
    return {
      status: "Unknown",
      reason: "Waiting",
      message: "the operator does not know its own image (--agent-image)",
    };
  const lack = lackOfClaim(snapshot);
  return lack === undefined ? { ...VERIFYING, message: "its Job is about to be made" } : awaited(snapshot, lack);
}

/** What is said when our Job is refused: others may mend that, though not for ever. @param triedForMs how long it has been refused */
export function verificationAfterRefusal(snapshot: BackupSnapshot, lack: Lack, triedForMs: number): Verification {
  return awaited(snapshot, lack, snapshot.takenAtMs - triedForMs);
}

const VERIFYING = { status: "Unknown", reason: "Verifying" } as const;

/** etcd of the release that was read, from where the cluster's own images are; `undefined` when that is not known. */
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
      return { ...VERIFYING, message: "the object is fetched, and an etcd is made of it" };
    return awaited(snapshot, trouble, idleSince(verifying, VERIFIERS));
  }
  // What is found is for ever.
  if (isReportDue(snapshot, verifying))
    return { ...VERIFYING, message: "its Job has ended; the report of its pod is waited for" };
  if (state === "failed") return failed(failureOf(verifying));
  const report = reportOf(verifying, VERIFY_CONTAINER);
  const message = "the data is right; the report of its pod, which says what was compared, is lost";
  if (report?.ok !== true || report.kind !== "verify") return { status: "True", reason: "Verified", message };
  const { revision, keys } = report;
  return { status: "True", reason: "Verified", message: report.message, revision, keys };
}

/** Why it failed: by the agent's own word, or by etcdutl's. */
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
      message: message?.trim() || `etcdutl ended with code ${exitCode} (${reason})`,
    };
  const because = failedBecause(job);
  const how =
    last === undefined ? `Job ${job.metadata.name}: ${because.message} (${because.reason})` : endText(last, VERIFIERS);
  return { reason: "AgentFailed", message: `its pod left no report: ${how}` };
}

/** Whether a verification may fail like this: it puts no data anywhere. */
function isOfVerification(reason: FailureReason): reason is Exclude<FailureReason, "DataExists" | ReplayFailureReason> {
  return reason !== "DataExists" && !isOfReplay(reason);
}

function failed({ reason, message }: Lack, more = ""): Verification {
  return { status: "False", reason: reason satisfies BackupReason, message: message + more };
}

/** @param sinceMs by default since the first look that was told; what is no time runs out never */
function awaited(snapshot: BackupSnapshot, lack: Lack, sinceMs = startMs(snapshot)): Verification {
  return snapshot.takenAtMs - sinceMs >= PATIENCE_MS
    ? failed(lack, `; it was waited for ${PATIENCE_MS / 60_000} minutes`)
    : { status: "Unknown", ...lack };
}

function startMs({ backup, takenAtMs }: BackupSnapshot): number {
  const { startTime } = backup.status?.verification ?? {};
  return startTime === undefined ? takenAtMs : Date.parse(startTime);
}
