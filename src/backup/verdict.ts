import { type BackupObject, type FailureReason, type FailureReport, isOfBackup } from "#agent/report.ts";
import type { BackupReason } from "#api/conditions.ts";
import { lackOfClaim, memberClaimText } from "#backup/claim.ts";
import { failedBecause, idleSince, isReportDue, lastEnded, reportOf, stateOf } from "#backup/job-state.ts";
import { lackOfName } from "#backup/name.ts";
import { isToBeRenewed } from "#backup/reach.ts";
import { type Attempted, type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import { authorityText, type Lack, lackOfSource, sourceSecret } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import { endText, troubleOf } from "#backup/trouble.ts";

/** What is to be said of the backup by now. */
export interface Verdict extends Lack {
  readonly phase: "BackingUp" | "Completed" | "Failed";
  /** What was stored, when the agent's report could be read. */
  readonly object?: BackupObject;
}

/**
 * How long is waited for what others have to do (a cluster that forms or comes back, a node, an image, a Secret, room in a quota), in
 * milliseconds. Ten minutes is a guess: a node that is ordered from a cloud takes a few. Too small: a backup fails that would have gone well.
 * Too large: the next one of a schedule waits for one that will never be.
 */
export const PATIENCE_MS = 10 * 60_000;

/** How the backup is doing, from what is to be seen: what its status says already is not asked. */
export function verdictOf(snapshot: BackupSnapshot): Verdict {
  const { taking } = snapshot;
  if (taking !== undefined && isOwned(snapshot, taking.job)) return ofJob(snapshot, taking);
  const refusal = refusalOf(snapshot);
  if (refusal !== undefined) return failed({ reason: "SpecRefused", message: refusal });
  const lack = lackOfName(snapshot) ?? lackOfSource(snapshot) ?? lackOfClaim(snapshot);
  if (lack === undefined) return { phase: "BackingUp", reason: "BackingUp", message: "its Job is about to be made" };
  return awaited(snapshot, lack, startMs(snapshot));
}

/** What is said when our Job is refused: others may mend that, though not for ever. @param triedForMs how long it has been refused */
export function afterRefusal(snapshot: BackupSnapshot, lack: Lack, triedForMs: number): Verdict {
  return awaited(snapshot, lack, snapshot.takenAtMs - triedForMs);
}

/** What of the spec cannot be done; `undefined` when all can. */
function refusalOf(snapshot: BackupSnapshot): string | undefined {
  const { spec } = snapshot.backup;
  const target = targetOf(snapshot);
  if (typeof target === "string") return target;
  if ((spec.source.clusterName === undefined) === (spec.source.endpoints === undefined))
    return "spec.source must have exactly one of clusterName and endpoints";
  return authorityText(snapshot) ?? memberClaimText(snapshot);
}

function ofJob(snapshot: BackupSnapshot, taking: Attempted): Verdict {
  // Completed and Failed are for ever.
  if (isReportDue(snapshot, taking)) {
    const message = "its Job has ended; the report of its pod is waited for";
    return { phase: "BackingUp", reason: "BackingUp", message };
  }
  switch (stateOf(taking.job)) {
    case "succeeded":
      return completed(taking);
    case "failed": {
      const failure = failureOf(snapshot, taking);
      if (!isToBeRenewed(snapshot, taking)) return failed(failure);
      const message = `an attempt has failed, another Job follows: ${failure.reason}: ${failure.message}`;
      return { phase: "BackingUp", reason: "Retrying", message };
    }
    case "active":
      return ofActive(snapshot, taking);
  }
}

function completed(taking: Attempted): Verdict {
  const report = reportOf(taking);
  const whole = { phase: "Completed", reason: "Completed" } as const;
  if (report?.ok === true && report.kind === "backup")
    return { ...whole, message: "the object is stored, with its manifest beside it", object: report.object };
  const message = "the object is stored; its pod's report is lost, and the manifest beside the object says what it is";
  return { ...whole, message };
}

function ofActive(snapshot: BackupSnapshot, taking: Attempted): Verdict {
  // The claim may have been made after the Job: its pod waits for it, and must not get it.
  const refusal = memberClaimText(snapshot);
  if (refusal !== undefined) return failed({ reason: "SpecRefused", message: refusal });
  const trouble = troubleOf(snapshot, taking);
  if (trouble === undefined && snapshot.backup.spec.archive !== undefined) return ofArchive(snapshot);
  if (trouble === undefined)
    return { phase: "BackingUp", reason: "BackingUp", message: "a snapshot is being taken and stored" };
  return awaited(snapshot, trouble, idleSince(taking) ?? Number.NaN);
}

function ofArchive({ progress, backup }: BackupSnapshot): Verdict {
  const archive = progress?.archive ?? backup.status?.archive;
  const phase = "BackingUp";
  if (archive === undefined) return { phase, reason: "BackingUp", message: "the archive of changes is about to begin" };
  const { revision, message } = archive;
  if (message !== undefined) return { phase, reason: "ArchiveStalled", message };
  return {
    phase,
    reason: "Archiving",
    message: `changes are stored as they happen, so far up to revision ${revision}`,
  };
}

/** Why the Job has failed: by the agent's own word, if it had the last one. */
export function failureOf(snapshot: BackupSnapshot, { job, pods }: Attempted): Lack {
  const { reason, message } = failedBecause(job);
  const report = reportOf({ job, pods });
  const last = lastEnded(pods);
  if (reason === "DeadlineExceeded") {
    const { activeDeadlineSeconds } = snapshot.backup.spec;
    const words = report?.ok === false ? `; the last attempt said ${report.reason}: ${report.message}` : "";
    return { reason, message: `it took longer than spec.activeDeadlineSeconds, ${activeDeadlineSeconds} s${words}` };
  }
  if (report?.ok === false && isOfBackup(report))
    return { reason: report.reason, message: withSecret(snapshot, report) };
  const how = last === undefined ? `Job ${job.metadata.name}: ${message} (${reason})` : endText(last);
  return { reason: "AgentFailed", message: `its pod left no report: ${how}` };
}

/** Whom the agent knows as files only. */
function withSecret(snapshot: BackupSnapshot, { reason, message }: FailureReport): string {
  const name = secretFor(snapshot, reason);
  return name === undefined ? message : `${message} (Secret ${name})`;
}

function secretFor(snapshot: BackupSnapshot, reason: FailureReason): string | undefined {
  const { source, encryption } = snapshot.backup.spec;
  if (reason === "SourceTLS") return sourceSecret(snapshot)?.name;
  if (reason === "SourceAuth") return source.auth?.secretName;
  if (reason === "BadKey") return encryption?.keySecret.name;
  if (reason !== "WrongCredentials" && reason !== "AccessDenied" && reason !== "StoreTLS") return undefined;
  const target = targetOf(snapshot);
  return typeof target === "string" ? undefined : target.credentials?.secretName;
}

function failed({ reason, message }: Lack, more = ""): Verdict {
  return { phase: "Failed", reason: reason satisfies BackupReason, message: message + more };
}

/** Since when it is waited for: the first look that was told. An operator that was away for an hour has waited for nothing. */
function startMs({ backup, takenAtMs }: BackupSnapshot): number {
  const { startTime } = backup.status ?? {};
  return startTime === undefined ? takenAtMs : Date.parse(startTime);
}

/** @param sinceMs what is no time runs out never: a clock that is wrong fails nobody */
function awaited({ takenAtMs, backup }: BackupSnapshot, lack: Lack, sinceMs: number): Verdict {
  // An archive is never done, so it is never too late.
  return takenAtMs - sinceMs >= PATIENCE_MS && backup.spec.archive === undefined
    ? failed(lack, `; it was waited for ${PATIENCE_MS / 60_000} minutes`)
    : { phase: "BackingUp", ...lack };
}
