import type { ScheduleConditionType } from "#api/conditions.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule, EtcdBackupScheduleStatus } from "#api/v1beta1/schedule.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { type Failing, unknownStatus, withCondition } from "#runtime/conditions.ts";
import type { Plan } from "#runtime/decide.ts";
import { dryRunOf } from "#schedule/dry-run.ts";
import { failuresIn } from "#schedule/failures.ts";
import { calendarFor, isMade, newSinceMs, runsOf } from "#schedule/runs.ts";
import { isActive, isDeleting, isGood, isSpoilt, madeAtMs, type ScheduleSnapshot } from "#schedule/snapshot.ts";
import type { ScheduleStep } from "#schedule/step.ts";
import { backupReadyWord, latestOf, readyWord, type Word } from "#schedule/verdict.ts";

/** Status of the EtcdBackupSchedule, for users and other software, and memory of the controller. Pure. */
export function scheduleStatus(snapshot: ScheduleSnapshot, plan: Plan<ScheduleStep>): EtcdBackupScheduleStatus {
  const { schedule, backups } = snapshot;
  const before = schedule.status ?? {};
  if (isDeleting(schedule)) return before;
  const dryRun = dryRunOf(snapshot);
  return {
    observedGeneration: generationOf(schedule),
    ...countedOf(snapshot),
    ...runsShown(snapshot),
    active: backups.filter(isActive).map(({ metadata }) => metadata.name),
    ...lastOf(snapshot),
    ...archiveStatus(snapshot),
    ...archiveFailures(snapshot),
    ...(dryRun === undefined ? {} : { dryRun }),
    conditions: conditionsOf(snapshot, plan),
  };
}

/** The status while all passes of the schedule fail. */
export const failingStatus: Failing<EtcdBackupSchedule, EtcdBackupScheduleStatus> = (schedule, ...failure) =>
  unknownStatus(schedule, ["Ready"], ...failure);

/** Spec and start for counting due times. */
function countedOf(snapshot: ScheduleSnapshot): Pick<EtcdBackupScheduleStatus, "counted"> {
  const { schedule, timeZone, startWindow, suspend } = snapshot.schedule.spec;
  if (suspend || typeof calendarFor(snapshot) === "string") return {};
  const sinceMs = runsOf(snapshot).sinceMs ?? newSinceMs(snapshot);
  return {
    counted: { schedule, timeZone, ...(startWindow === undefined ? {} : { startWindow }), since: rfc3339(sinceMs) },
  };
}

/** State of the archive; empty before its first report. */
function archiveStatus({ archive }: ScheduleSnapshot): Pick<EtcdBackupScheduleStatus, "archive"> {
  const { archive: reported, conditions = [] } = archive?.status ?? {};
  if (archive === undefined || reported === undefined) return {};
  const complete = conditions.find(({ type }) => type === "Complete");
  const isFine = complete === undefined || complete.reason === "Archiving";
  const { message: _, ...rest } = reported;
  return { archive: { name: archive.metadata.name, ...rest, ...(isFine ? {} : { message: complete.message }) } };
}

function archiveFailures(snapshot: ScheduleSnapshot): Pick<EtcdBackupScheduleStatus, "archiveFailures"> {
  const failures = failuresIn(snapshot);
  return failures === undefined ? {} : { archiveFailures: failures };
}

function runsShown(snapshot: ScheduleSnapshot): EtcdBackupScheduleStatus {
  const { lastMs, made, dueMs, heldMs, nextMs } = runsOf(snapshot);
  const recordedMs = isMade(snapshot) ? dueMs : undefined;
  const shownMs = recordedMs ?? lastMs;
  return {
    ...(shownMs === undefined ? {} : { lastScheduleTime: rfc3339(shownMs) }),
    ...(heldMs === undefined ? {} : { heldTime: rfc3339(heldMs) }),
    ...(nextMs === undefined ? {} : { nextScheduleTime: rfc3339(nextMs) }),
    runs: recordedMs === undefined ? made : made + 1,
  };
}

/** The latest good and verified backups. Recorded values stay when an EtcdBackup is deleted, not when its object is gone. */
function lastOf({ schedule, backups }: ScheduleSnapshot): EtcdBackupScheduleStatus {
  const isBad = (made?: { readonly name: string }) =>
    backups.some((backup) => backup.metadata.name === made?.name && !isDeleting(backup) && isSpoilt(backup));
  const [lastSuccessful, lastVerified] = [schedule.status?.lastSuccessful, schedule.status?.lastVerified].map((made) =>
    isBad(made) ? undefined : made,
  );
  const good = latestOf(backups.filter(isGood));
  const verified = latestOf(backups.filter((backup) => isVerified(backup) && !isSpoilt(backup)));
  const successful = good === undefined ? lastSuccessful : successfulOf(good);
  const proven = verified === undefined ? lastVerified : madeOf(verified);
  return {
    ...(successful === undefined ? {} : { lastSuccessful: successful }),
    ...(proven === undefined ? {} : { lastVerified: proven }),
  };
}

function isVerified({ status }: EtcdBackup): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Verified" && is === "True") === true;
}

function successfulOf(backup: EtcdBackup) {
  const { object, objectURL } = backup.status ?? {};
  return {
    ...madeOf(backup),
    ...(object === undefined ? {} : { revision: object.revision }),
    ...(objectURL === undefined ? {} : { objectURL }),
  };
}

function madeOf(backup: EtcdBackup) {
  return { name: backup.metadata.name, creationTime: rfc3339(madeAtMs(backup)) };
}

type Conditions = NonNullable<EtcdBackupScheduleStatus["conditions"]>;

function conditionsOf(snapshot: ScheduleSnapshot, plan: Plan<ScheduleStep>): Conditions {
  const said = snapshot.schedule.status?.conditions ?? [];
  const ready = hindrance(plan, snapshot) ?? readyWord(snapshot);
  const isStalled = ready.reason === "SpecRefused";
  const stalls = isStalled || said.some(({ type }) => type === "Stalled");
  const words = {
    Ready: ready,
    BackupReady: backupReadyWord(snapshot),
    ...(stalls ? { Stalled: { ...ready, isTrue: isStalled } } : {}),
  } satisfies Partial<Record<ScheduleConditionType, Word>>;
  return Object.entries(words).reduce((all, [type, word]) => condition(snapshot, all, type, word), said);
}

/** What keeps the plan from being executed. */
function hindrance(plan: Plan<ScheduleStep>, { archiveNamesake }: ScheduleSnapshot): Word | undefined {
  const lack = plan.reports?.find(({ is }) => is !== "delayed");
  if (lack !== undefined) {
    const noticed = archiveNamesake === undefined ? "ArchivePlaceTaken" : "NameTaken";
    const refused = lack.code === "KubeAlreadyExists" ? "NameTaken" : "StepRefused";
    const reason = lack.is === "notice" ? noticed : refused;
    return { isTrue: false, reason, message: `${lack.rule}: ${lack.because}` };
  }
  if (plan.next !== "wait" || plan.rule !== "name-taken") return undefined;
  return { isTrue: false, reason: "NameTaken", message: plan.because };
}

function condition(snapshot: ScheduleSnapshot, others: Conditions, type: string, word: Word): Conditions {
  const { isTrue, reason, message } = word;
  const observedGeneration = generationOf(snapshot.schedule);
  const status = isTrue ? ("True" as const) : ("False" as const);
  return withCondition(others, { type, status, reason, message, observedGeneration }, rfc3339(snapshot.takenAtMs));
}

function generationOf({ metadata }: EtcdBackupSchedule): number {
  return metadata.generation ?? 0;
}
