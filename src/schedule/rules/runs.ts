import { rfc3339 } from "#base/timestamp.ts";
import { step, wait } from "#runtime/decide.ts";
import { backupFor } from "#schedule/desired/backup.ts";
import { dueName, isMade, runsOf } from "#schedule/runs.ts";
import { isActive, isClusterAsleep } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const STATUS_RECHECK_MS = 2_000;

/** Restarts counting for a schedule that is new, edited or resumed, and records that before a run is made. */
export const restartCount: ScheduleRule = {
  name: "restart-count",
  decide(snapshot) {
    const { suspend, schedule } = snapshot.schedule.spec;
    if (suspend || runsOf(snapshot).sinceMs !== undefined) return undefined;
    return wait(`due times of ${schedule} count from now on`, STATUS_RECHECK_MS);
  },
};

/** Records a due backup that was made and has lost its label. */
export const recordRun: ScheduleRule = {
  name: "record-run",
  decide(snapshot) {
    const { dueMs } = runsOf(snapshot);
    if (dueMs === undefined || !isMade(snapshot)) return undefined;
    return wait(`EtcdBackup ${dueName(snapshot.schedule, dueMs)} was made and is recorded`, STATUS_RECHECK_MS);
  },
};

/** Deletes a running backup when the next one is due (concurrencyPolicy Replace). */
export const replaceBackup: ScheduleRule = {
  name: "replace-backup",
  decide(snapshot) {
    if (snapshot.schedule.spec.concurrencyPolicy !== "Replace") return undefined;
    if (runsOf(snapshot).dueMs === undefined) return undefined;
    const backup = snapshot.backups.find(isActive);
    if (backup === undefined) return undefined;
    const because = `EtcdBackup ${backup.metadata.name} has not ended, and the next one is due`;
    return step(because, { do: "deleteBackup", backup, keepers: [] });
  },
};

/** Creates the EtcdBackup of a due or repeated run, once: its name has the due time or the end of the pause. */
export const createBackup: ScheduleRule = {
  name: "create-backup",
  decide(snapshot) {
    const { schedule, backups, namesake } = snapshot;
    const { dueMs, made, repeated } = runsOf(snapshot);
    if (dueMs === undefined || namesake !== undefined) return undefined;
    if (schedule.spec.concurrencyPolicy !== "Allow" && backups.some(isActive)) return undefined;
    const because =
      repeated === undefined
        ? `a backup was due at ${rfc3339(dueMs)}`
        : `EtcdBackup ${repeated.metadata.name} has failed and is repeated`;
    return step(because, { do: "createBackup", backup: backupFor(snapshot, dueMs, made, repeated) });
  },
};

/** Recheck interval in case events are lost, in milliseconds; the backup has events of its own. */
const AWAIT_BACKUP_RECHECK_MS = 30_000;

/**
 * Waits with a due backup until the running one has ended (concurrencyPolicy Forbid). When several are due by then,
 * only the latest is made.
 */
export const awaitBackup: ScheduleRule = {
  name: "await-backup",
  decide(snapshot) {
    const active = snapshot.backups.find(isActive);
    if (active === undefined || runsOf(snapshot).dueMs === undefined) return undefined;
    return wait(`a backup is due, but EtcdBackup ${active.metadata.name} has not ended`, AWAIT_BACKUP_RECHECK_MS);
  },
};

/** Recheck interval, in milliseconds: the deletion of a foreign EtcdBackup has no event here. */
const NAME_TAKEN_RECHECK_MS = 10_000;

/** Waits while a foreign EtcdBackup has the due name; it is never adopted. */
export const nameTaken: ScheduleRule = {
  name: "name-taken",
  decide({ namesake }) {
    if (namesake === undefined) return undefined;
    const because = `EtcdBackup ${namesake.metadata.name} exists already, and was not made by this schedule`;
    return wait(because, NAME_TAKEN_RECHECK_MS, { warn: true });
  },
};

/**
 * Recheck interval while the cluster sleeps, in milliseconds. Its wake-up has no event here, and takes a while anyway.
 */
const CLUSTER_ASLEEP_RECHECK_MS = 10_000;

/**
 * Waits with a run while the cluster sleeps (spec.replicas is 0). When several are due by then, only the latest is
 * made.
 */
export const clusterAsleep: ScheduleRule = {
  name: "cluster-asleep",
  decide(snapshot) {
    const { heldMs } = runsOf(snapshot);
    if (heldMs === undefined || !isClusterAsleep(snapshot)) return undefined;
    const because = `EtcdCluster ${snapshot.cluster?.metadata.name} sleeps; the backup that was due at ${rfc3339(heldMs)} waits until it is woken`;
    return wait(because, CLUSTER_ASLEEP_RECHECK_MS);
  },
};

/** Waits for the next due time. */
export const awaitDue: ScheduleRule = {
  name: "await-due",
  decide(snapshot) {
    const { nextMs } = runsOf(snapshot);
    if (nextMs === undefined) return undefined;
    return { next: "settled", recheckAfterMs: nextMs - snapshot.takenAtMs };
  },
};
