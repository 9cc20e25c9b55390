import { dueTimeOf } from "#api/names.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdBackupSchedule, MadeBackup } from "#api/v1beta1/schedule.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Case, Verdict } from "./verdict.ts";

/**
 * Condition BackupReady: whether the latest run of each schedule left a good backup. Suspended schedules count only
 * when there is no other. Before the first due time, and while all schedules are suspended, nothing is amiss.
 */
export function backupReady({ snapshot }: Pick<Case, "snapshot">): Verdict | undefined {
  const { schedules, cluster } = snapshot;
  if (schedules.length === 0) {
    const wasReported = cluster.status?.conditions?.some(({ type }) => type === "BackupReady") ?? false;
    const message = "no EtcdBackupSchedule names this cluster any more";
    return wasReported ? { status: "False", reason: "NoSchedule", message } : undefined;
  }
  const awake = schedules.filter(({ spec }) => !spec.suspend);
  if (awake.length === 0) {
    const suspended = schedules.map(({ metadata }) => `${metadata.name}: spec.suspend is true: no backups are made`);
    return { status: "False", reason: "NoBackupDue", message: suspended.join("; ") };
  }
  const lacking = awake.filter((schedule) => lackOf(schedule) !== undefined);
  if (lacking.length > 0) {
    const reason = lacking.every(awaitsFirst) ? "NoBackupDue" : "BackupMissing";
    return { status: "False", reason, message: lacking.map(lackOf).join("; ") };
  }
  const messages = awake.map(
    (schedule) => `${schedule.metadata.name}: ${conditionOf(schedule, "BackupReady")?.message}`,
  );
  return { status: "True", reason: "BackedUp", message: messages.join("; ") };
}

/** The schedule's problem, according to its status. */
function lackOf(schedule: EtcdBackupSchedule): string | undefined {
  const lack = ["Ready", "BackupReady"]
    .map((type) => conditionOf(schedule, type))
    .find((each) => each?.status !== "True");
  if (conditionOf(schedule, "BackupReady") === undefined) return `${schedule.metadata.name}: it has no status yet`;
  return lack === undefined ? undefined : `${schedule.metadata.name}: ${lack.message}`;
}

/** Whether no run of the schedule was due yet. */
function awaitsFirst(schedule: EtcdBackupSchedule): boolean {
  const isReady = conditionOf(schedule, "Ready")?.status === "True";
  const isWithout = conditionOf(schedule, "BackupReady")?.reason === "NoBackupYet";
  return isReady && isWithout && schedule.status?.lastScheduleTime === undefined;
}

function conditionOf({ status }: EtcdBackupSchedule, type: string) {
  return status?.conditions?.find((each) => each.type === type);
}

/**
 * The latest backups of all schedules. A recorded backup stands for a schedule that was deleted. A schedule that exists
 * reports itself, since the object of the recorded backup may be gone.
 */
export function backupStatus({ schedules, cluster }: ClusterSnapshot): Pick<EtcdClusterStatus, "backup"> {
  const { backup: before } = cluster.status ?? {};
  const isReported = (made: MadeBackup) =>
    schedules.some((each) => dueTimeOf(each.metadata.name, made.name) !== undefined && reportsBackups(each));
  const ofDeleted = (made: MadeBackup | undefined) => (made === undefined || isReported(made) ? undefined : made);
  const reported = schedules.map(({ status }) => status);
  const lastSuccessful = latestOf([ofDeleted(before?.lastSuccessful), ...reported.map((each) => each?.lastSuccessful)]);
  const lastVerified = latestOf([ofDeleted(before?.lastVerified), ...reported.map((each) => each?.lastVerified)]);
  if (lastSuccessful === undefined && lastVerified === undefined) return {};
  return {
    backup: {
      ...(lastSuccessful === undefined ? {} : { lastSuccessful }),
      ...(lastVerified === undefined ? {} : { lastVerified }),
    },
  };
}

/** Whether the status of the schedule has its latest good backup, or states that its object is gone. */
function reportsBackups(schedule: EtcdBackupSchedule): boolean {
  const isMissing = conditionOf(schedule, "BackupReady")?.reason === "ObjectMissing";
  return isMissing || schedule.status?.lastSuccessful !== undefined;
}

function latestOf(all: readonly (MadeBackup | undefined)[]): MadeBackup | undefined {
  const known = all.filter((each) => each !== undefined);
  const [latest] = known.toSorted((a, b) => Date.parse(b.creationTime) - Date.parse(a.creationTime));
  return latest === undefined ? undefined : { name: latest.name, creationTime: latest.creationTime };
}
