import { refusalIn } from "#agent-job/refusal.ts";
import type { BackupConditionType, BackupReason } from "#api/conditions.ts";
import { defectOf, missingOf } from "#api/defect.ts";
import { backupJobName } from "#api/names.ts";
import type { EtcdBackup, EtcdBackupStatus, StoredBackup } from "#api/v1beta1/backup.ts";
import { letGoText, whyNotDeleted } from "#backup/deletion.ts";
import { checkAfterRefusal, checkOutcomeOf } from "#backup/object-check.ts";
import { isNothingStored } from "#backup/pods.ts";
import { type BackupSnapshot, hasEnded, isDeleting, isHeld, isOwned, mayKeepObject, ownOf } from "#backup/snapshot.ts";
import { sourceText } from "#backup/source.ts";
import type { BackupStep } from "#backup/step.ts";
import { targetOf } from "#backup/target.ts";
import { afterRefusal, startMs, type Verdict, verdictOf } from "#backup/verdict.ts";
import { type Verification, verificationAfterRefusal, verificationOf } from "#backup/verification.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { type Failing, unknownStatus, withCondition } from "#runtime/conditions.ts";
import type { Plan } from "#runtime/decide.ts";

/** Status of the EtcdBackup, for users and other software. Completed and Failed are final. Pure. */
export function backupStatus(snapshot: BackupSnapshot, plan: Plan<BackupStep>): EtcdBackupStatus {
  const { backup } = snapshot;
  const before = backup.status ?? {};
  if (isDeleting(snapshot)) return isHeld(snapshot) ? withDeletion(snapshot, before, plan) : before;
  if (hasEnded(snapshot))
    return withCheck(
      snapshot,
      withVerification(snapshot, withNothing(snapshot, withGeneration(snapshot, before)), plan),
      plan,
    );
  const verdict = shownVerdict(snapshot, plan);
  const now = rfc3339(snapshot.takenAtMs);
  const { progress: _, startTime: _s, ...kept } = before;
  return withNothing(snapshot, {
    ...kept,
    observedGeneration: generationOf(snapshot),
    phase: verdict.phase,
    source: sourceText(snapshot),
    ...placeOf(snapshot),
    ...startOf(snapshot, plan, verdict),
    ...(verdict.phase === "BackingUp" ? progressOf(snapshot) : { completionTime: now }),
    ...(verdict.object === undefined ? {} : { object: storedOf(verdict.object) }),
    conditions: conditionsOf(snapshot, verdict),
  });
}

/** The status while all passes of the backup fail. When it has ended, its status does not change. */
export const failingStatus: Failing<EtcdBackup, EtcdBackupStatus> = (backup, ...failure) =>
  hasEnded({ backup }) ? (backup.status ?? {}) : unknownStatus(backup, ["Complete", "Ready"], ...failure);

/**
 * PATIENCE_MS counts from this time. It begins when the wait for other backups ends, and again when the Job is refused
 * for the first time.
 */
function startOf(snapshot: BackupSnapshot, plan: Plan<BackupStep>, verdict: Verdict): EtcdBackupStatus {
  const now = rfc3339(snapshot.takenAtMs);
  const { startTime = now } = snapshot.backup.status ?? {};
  if (isOfJob(verdict)) return { startTime: shownRefusal(snapshot) === undefined ? now : startTime };
  return isAwaitingTurn(plan) ? {} : { startTime };
}

function placeOf(snapshot: BackupSnapshot): EtcdBackupStatus {
  const { backup, taking } = snapshot;
  const target = targetOf(snapshot);
  const isMade = taking !== undefined && isOwned(snapshot, taking.job);
  const made = isMade ? { jobName: backupJobName(backup.metadata.name) } : {};
  if (typeof target === "string") return made;
  return { objectURL: target.url, ...(isMade ? { objectKey: target.key } : {}), ...made };
}

/** The status of a backup that has ended holds for every later generation: its spec can only ask for a verification. */
function withGeneration(snapshot: BackupSnapshot, status: EtcdBackupStatus): EtcdBackupStatus {
  const observedGeneration = generationOf(snapshot);
  const conditions = status.conditions?.map((each) => ({ ...each, observedGeneration }));
  return { ...status, observedGeneration, ...(conditions === undefined ? {} : { conditions }) };
}

/** Records, once the Job exists, whether nothing has been stored so far. */
function withNothing(snapshot: BackupSnapshot, { nothingStored: _, ...status }: EtcdBackupStatus): EtcdBackupStatus {
  return status.jobName !== undefined && isNothingStored(snapshot) ? { ...status, nothingStored: true } : status;
}

function progressOf({ backup, progress }: BackupSnapshot): Pick<EtcdBackupStatus, "progress" | "archive"> {
  if (backup.spec.archive !== undefined) {
    const archive = progress?.archive ?? backup.status?.archive;
    return archive === undefined ? {} : { archive };
  }
  if (progress === undefined) {
    // The last progress stays when the agent does not answer for a moment.
    const last = backup.status?.progress;
    return last === undefined ? {} : { progress: last };
  }
  const { phase, bytesRead, bytesStored, bytesExpected } = progress;
  return { progress: { phase, bytesRead, bytesStored, bytesExpected } };
}

function storedOf(object: NonNullable<Verdict["object"]>): StoredBackup {
  const { bytes, storedBytes, sha256, revision, etcdVersion, clusterID, memberID, compression } = object;
  const { encrypted, keyID } = object;
  return {
    ...{ bytes, storedBytes, sha256, revision, etcdVersion, clusterID, memberID, compression, encrypted },
    ...(keyID === undefined ? {} : { keyID }),
  };
}

/** Reasons of waits that do not time out, by rule. Other waits get the reason of the verdict. */
const REASON_OF_RULE: Readonly<Record<string, BackupReason>> = { "await-image": "Waiting", "await-turn": "Waiting" };

function isAwaitingTurn(plan: Plan<BackupStep>): boolean {
  return plan.next === "wait" && plan.rule === "await-turn";
}

interface Word {
  readonly reason: BackupReason;
  readonly message: string;
}

/**
 * The verdict, or what keeps the plan from being executed. A refused Job is waited for, up to PATIENCE_MS, since users
 * can fix the cause. From its first refusal on, the wait for other backups counts, too; only a refusal fails the backup.
 */
function shownVerdict(snapshot: BackupSnapshot, plan: Plan<BackupStep>): Verdict {
  const verdict = verdictOf(snapshot);
  if (verdict.phase !== "BackingUp") return verdict;
  const [refusal, shown] = [refusalIn(plan), shownRefusal(snapshot)];
  if (refusal === undefined) return { ...verdict, ...(isAwaitingTurn(plan) ? (shown ?? waitIn(plan)) : waitIn(plan)) };
  const isKnown = shown !== undefined && isOfJob(refusal);
  return afterRefusal(snapshot, refusal, isKnown ? snapshot.takenAtMs - startMs(snapshot) : refusal.triedForMs);
}

/** The refusal of the Job in the status. It applies until the Job is tried again, which other backups may delay. */
function shownRefusal({ backup }: BackupSnapshot): Word | undefined {
  const shown = backup.status?.conditions?.find(isOfJob);
  return shown && { reason: shown.reason as BackupReason, message: shown.message };
}

/** Whether `refusalIn` made the message of a refused Job. */
function isOfJob({ message }: { readonly message: string }): boolean {
  return message.startsWith("create-job: ");
}

function conditionsOf(snapshot: BackupSnapshot, verdict: Verdict) {
  const isComplete = verdict.phase === "Completed";
  const hasFailed = verdict.phase === "Failed";
  const is = {
    Complete: isComplete,
    Failed: hasFailed,
    Ready: isComplete || verdict.reason === "Archiving",
    ...(hasFailed ? { Stalled: true } : {}),
  };
  return withConditions(snapshot, snapshot.backup.status?.conditions ?? [], is, verdict);
}

function withConditions(
  snapshot: BackupSnapshot,
  before: Conditions,
  is: Partial<Record<BackupConditionType, boolean>>,
  word: Word,
): Conditions {
  return Object.entries(is).reduce((all, [type, isTrue]) => condition(snapshot, all, type, isTrue, word), before);
}

function waitIn(plan: Plan<BackupStep>): Word | undefined {
  const reason = plan.next === "wait" ? REASON_OF_RULE[plan.rule] : undefined;
  return plan.next === "wait" && reason !== undefined ? { reason, message: plan.because } : undefined;
}

function withDeletion(snapshot: BackupSnapshot, before: EtcdBackupStatus, plan: Plan<BackupStep>): EtcdBackupStatus {
  const lack = (refusalIn(plan) ?? waitIn(plan))?.message ?? whyNotDeleted(snapshot);
  const word: Word =
    lack === undefined
      ? {
          reason: "DeletingObject",
          message: plan.next === "settled" ? "the EtcdBackup is about to be deleted" : plan.because,
        }
      : { reason: "ObjectNotDeleted", message: mayKeepObject(snapshot) ? lack : `${lack}; ${letGoText(snapshot)}` };
  const conditions = condition(snapshot, before.conditions ?? [], "ObjectDeleted", false, word);
  return withNothing(snapshot, { ...placeOf(snapshot), ...before, conditions });
}

/** A refused step of these rules keeps a verification from its end. */
const OF_VERIFICATION = ["verify-object", "retry-verification"];

/** The result of a verification is final. */
function withVerification(
  snapshot: BackupSnapshot,
  before: EtcdBackupStatus,
  plan: Plan<BackupStep>,
): EtcdBackupStatus {
  const seen = verificationOf(snapshot);
  if (seen === undefined) return before;
  const refusal = seen.status === "Unknown" ? refusalIn(plan, OF_VERIFICATION) : undefined;
  const shown = refusal === undefined ? seen : verificationAfterRefusal(snapshot, refusal);
  const { status, reason, message, revision, keys }: Verification = shown;
  const now = rfc3339(snapshot.takenAtMs);
  const { jobName, startTime = now } = before.verification ?? {};
  const made = ownOf(snapshot, snapshot.verifying);
  const name = made?.job.metadata.name ?? jobName;
  const verified = withCondition(
    before.conditions ?? [],
    {
      type: "Verified" satisfies BackupConditionType,
      status,
      reason,
      message,
      observedGeneration: generationOf(snapshot),
    },
    now,
  );
  const isDefective = defectOf({ status: { conditions: verified } }) !== undefined;
  return {
    ...before,
    verification: {
      ...(name === undefined ? {} : { jobName: name }),
      startTime,
      ...(status === "Unknown" ? {} : { completionTime: now }),
      ...(revision === undefined ? {} : { revision }),
      ...(keys === undefined ? {} : { keys }),
    },
    conditions: isDefective
      ? withConditions(snapshot, verified, { Ready: false, Stalled: true }, { reason, message })
      : verified,
  };
}

/** Records the result of a check. A check that could not be made leaves the conditions as they are. */
function withCheck(snapshot: BackupSnapshot, before: EtcdBackupStatus, plan: Plan<BackupStep>): EtcdBackupStatus {
  const outcome = checkOutcomeOf(snapshot) ?? checkAfterRefusal(snapshot, plan);
  if (outcome === undefined) return before;
  const { status, reason, message, jobUID } = outcome;
  const objectCheck = {
    time: rfc3339(snapshot.takenAtMs),
    ...(jobUID === undefined ? {} : { jobUID }),
    ...(status === "Unknown" ? { message: `${reason}: ${message}` } : {}),
  };
  if (status === "Unknown") return { ...before, objectCheck };
  const was = before.conditions ?? [];
  const found = condition(snapshot, was, "ObjectFound" satisfies BackupConditionType, status === "True", outcome);
  if (status === "False")
    return {
      ...before,
      objectCheck,
      conditions: withConditions(snapshot, found, { Ready: false, Stalled: true }, outcome),
    };
  const isBack = missingOf({ status: before }) !== undefined && defectOf({ status: before }) === undefined;
  const word: Word = { reason: "Completed", message: "the object is stored again, with its manifest" };
  const conditions = isBack ? withConditions(snapshot, found, { Ready: true, Stalled: false }, word) : found;
  return { ...before, objectCheck, conditions };
}

type Conditions = NonNullable<EtcdBackupStatus["conditions"]>;

function condition(
  snapshot: BackupSnapshot,
  others: Conditions,
  type: string,
  isTrue: boolean,
  word: Word,
): Conditions {
  const { reason, message } = word;
  const status = isTrue ? "True" : "False";
  const next = { type, status, reason, message, observedGeneration: generationOf(snapshot) } as const;
  return withCondition(others, next, rfc3339(snapshot.takenAtMs));
}

function generationOf({ backup }: BackupSnapshot): number {
  return backup.metadata.generation ?? 0;
}
