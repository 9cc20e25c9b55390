import { type BackupObject, type FailureReason, type FailureReport, isOfBackup } from "#agent/report.ts";
import {
  type Attempted,
  failedBecause,
  idleSince,
  isReportDue,
  lastEnded,
  reportOf,
  stateOf,
} from "#agent-job/job-state.ts";
import { endText } from "#agent-job/pod-trouble.ts";
import type { BackupReason } from "#api/conditions.ts";
import { lackOfClaim, memberClaimText } from "#backup/claim.ts";
import { lackOfName } from "#backup/name.ts";
import { isToBeRenewed } from "#backup/reach.ts";
import { type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import { authorityText, type Lack, lackOfSource, sourceSecret } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import { troubleOf } from "#backup/trouble.ts";

/** Phase, reason and message of the backup. */
export interface Verdict extends Lack {
  readonly phase: "BackingUp" | "Completed" | "Failed";
  /** What was stored, if the agent's report could be parsed. */
  readonly object?: BackupObject;
}

/**
 * How long the backup waits for what it does not control (a cluster, node, image, Secret, quota), in milliseconds. Ten
 * minutes is a guess: a cloud provides a node in a few. If smaller, backups fail that would succeed; if larger, a
 * schedule's next backup waits for a hopeless one.
 */
export const PATIENCE_MS = 10 * 60_000;

/** Verdict about the backup from its objects, not from its old status. */
export function verdictOf(snapshot: BackupSnapshot): Verdict {
  const { taking } = snapshot;
  if (taking !== undefined && isOwned(snapshot, taking.job)) return ofJob(snapshot, taking);
  const refusal = refusalOf(snapshot);
  if (refusal !== undefined) return failed({ reason: "SpecRefused", message: refusal });
  const lack = lackOfName(snapshot) ?? lackOfSource(snapshot) ?? lackOfClaim(snapshot);
  if (lack === undefined) return { phase: "BackingUp", reason: "BackingUp", message: "its Job is created next" };
  return awaited(snapshot, lack, startMs(snapshot));
}

/**
 * Verdict when the Job is refused: pending up to PATIENCE_MS, since users can fix the cause. @param triedForMs how long
 * the Job has been refused
 */
export function afterRefusal(snapshot: BackupSnapshot, lack: Lack, triedForMs: number): Verdict {
  return awaited(snapshot, lack, snapshot.takenAtMs - triedForMs);
}

/** What in the spec is invalid; `undefined` when nothing is. */
function refusalOf(snapshot: BackupSnapshot): string | undefined {
  const { spec } = snapshot.backup;
  const target = targetOf(snapshot);
  if (typeof target === "string") return target;
  if ((spec.source.cluster === undefined) === (spec.source.external === undefined))
    return "spec.source must have exactly one of cluster and external";
  return authorityText(snapshot) ?? memberClaimText(snapshot);
}

function ofJob(snapshot: BackupSnapshot, taking: Attempted): Verdict {
  // Completed and Failed are final.
  if (isReportDue(snapshot, taking)) {
    const message = "its Job has ended; the report of its pod is awaited";
    return { phase: "BackingUp", reason: "BackingUp", message };
  }
  switch (stateOf(taking)) {
    case "succeeded":
      return completed(taking);
    case "failed": {
      const failure = failureOf(snapshot, taking);
      if (!isToBeRenewed(snapshot, taking)) return failed(failure);
      const message = `an attempt has failed and a new Job follows: ${failure.reason}: ${failure.message}`;
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
    return { ...whole, message: "the object and its manifest are stored", object: report.object };
  const message = "the object is stored; its pod's report is lost, but the manifest beside the object describes it";
  return { ...whole, message };
}

function ofActive(snapshot: BackupSnapshot, taking: Attempted): Verdict {
  // The claim may be created after the Job: its pod waits for it, and must not get a member's claim.
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

/** Why the Job has failed: the agent's report, if it was the cause. */
export function failureOf(snapshot: BackupSnapshot, { job, pods }: Attempted): Lack {
  const { reason, message } = failedBecause(job);
  const report = reportOf({ job, pods });
  const last = lastEnded(pods);
  if (reason === "DeadlineExceeded") {
    const { activeDeadlineSeconds } = snapshot.backup.spec;
    const words = report?.ok === false ? `; the last attempt reported ${report.reason}: ${report.message}` : "";
    return { reason, message: `it took longer than spec.activeDeadlineSeconds, ${activeDeadlineSeconds} s${words}` };
  }
  if (report?.ok === false && isOfBackup(report))
    return { reason: report.reason, message: withSecret(snapshot, report) };
  const how = last === undefined ? `Job ${job.metadata.name}: ${message} (${reason})` : endText(last);
  return { reason: "AgentFailed", message: `its pod left no report: ${how}` };
}

/** Adds the Secret's name to the message: the agent knows Secrets only as files. */
function withSecret(snapshot: BackupSnapshot, { reason, message }: FailureReport): string {
  const name = secretFor(snapshot, reason);
  return name === undefined ? message : `${message} (Secret ${name})`;
}

function secretFor(snapshot: BackupSnapshot, reason: FailureReason): string | undefined {
  const { source, encryption } = snapshot.backup.spec;
  if (reason === "SourceTLS") return sourceSecret(snapshot)?.name;
  if (reason === "SourceAuth") return source.external?.auth?.secretName;
  if (reason === "BadKey") return encryption?.keySecretRef.name;
  if (reason !== "WrongCredentials" && reason !== "AccessDenied" && reason !== "StoreTLS") return undefined;
  const target = targetOf(snapshot);
  return typeof target === "string" ? undefined : target.credentials?.secretName;
}

function failed({ reason, message }: Lack, more = ""): Verdict {
  return { phase: "Failed", reason: reason satisfies BackupReason, message: message + more };
}

/**
 * Begin of the wait: the first observation recorded in the status. Downtime of the operator before it does not count.
 */
export function startMs({ backup, takenAtMs }: BackupSnapshot): number {
  const { startTime } = backup.status ?? {};
  return startTime === undefined ? takenAtMs : Date.parse(startTime);
}

/** @param sinceMs NaN never times out: a wrong clock fails no backup */
function awaited({ takenAtMs, backup }: BackupSnapshot, lack: Lack, sinceMs: number): Verdict {
  // An archive never completes, so its wait has no limit.
  return takenAtMs - sinceMs >= PATIENCE_MS && backup.spec.archive === undefined
    ? failed(lack, `; it was waited for ${PATIENCE_MS / 60_000} minutes`)
    : { phase: "BackingUp", ...lack };
}
