import { dueTimeOf } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { countedIn, isObjectGoing, keepersByEtcd } from "#schedule/disposal.ts";
import { runsOf } from "#schedule/runs.ts";
import { etcdOf, isDeleting, isOwned } from "#schedule/snapshot.ts";
import type { ScheduleGuard, ScheduleStep } from "#schedule/step.ts";

/** What each kind of step does to an EtcdBackup. A kind that is missing here does not compile. */
const EFFECT = {
  createBackup: "makes",
  deleteBackup: "gives up",
  giveObject: "gives up",
  keepObject: "keeps",
} as const satisfies Record<ScheduleStep["do"], string>;

function givesUp(step: ScheduleStep): step is Extract<ScheduleStep, { readonly keepers: unknown }> {
  return EFFECT[step.do] === "gives up";
}

/** Refuses to change or delete a backup of another origin; only the mark left by a deleted schedule may be removed. */
const ownOnly: ScheduleGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (step.do === "createBackup" || isOwned(snapshot, step.backup)) return undefined;
    const isLeft = snapshot.left.some(({ metadata }) => metadata.uid === step.backup.metadata.uid);
    if (step.do === "keepObject" && isLeft) return undefined;
    return `EtcdBackup ${step.backup.metadata.name} does not belong to this schedule`;
  },
};

/**
 * Refuses to make a run or archive twice, and a run before its due time or after a later run. Refuses both for a
 * schedule that is suspended or being deleted.
 */
const onceOnly: ScheduleGuard = {
  name: "once-only",
  forbids(snapshot, step) {
    if (step.do !== "createBackup") return undefined;
    const { schedule, takenAtMs, namesake, archive } = snapshot;
    const { name } = step.backup.metadata;
    if (step.backup.spec?.archive !== undefined) {
      if (isDeleting(schedule)) return "the schedule is being deleted";
      return archive === undefined ? undefined : `EtcdBackup ${archive.metadata.name} exists`;
    }
    if (schedule.spec.suspend || isDeleting(schedule)) return "the schedule is suspended or being deleted";
    if (namesake !== undefined) return `EtcdBackup ${name} exists`;
    const dueMs = dueTimeOf(schedule.metadata.name, name);
    if (dueMs === undefined || dueMs > takenAtMs) return `EtcdBackup ${name} is not due yet`;
    const { lastMs } = runsOf(snapshot);
    return lastMs !== undefined && dueMs <= lastMs
      ? `the run of EtcdBackup ${name}, or a later one, was made before`
      : undefined;
  },
};

/** Refuses to delete or mark the last good backup of an etcd, by revision and by time, before a later one is stored. */
const lastGoodStays: ScheduleGuard = {
  name: "last-good-stays",
  forbids(snapshot, step) {
    if (!givesUp(step)) return undefined;
    const { backup, keepers } = step;
    if (backup.status?.phase !== "Completed") return undefined;
    const latest = keepersByEtcd(countedIn(snapshot)).get(etcdOf(backup)) ?? [];
    const named = new Set(keepers.map(({ metadata }) => metadata.uid));
    const isLeft = ({ metadata: { uid } }: EtcdBackup) => uid !== backup.metadata.uid && named.has(uid);
    if (latest.length > 0 && latest.every(isLeft)) return undefined;
    return `EtcdBackup ${backup.metadata.name} is the last good one of its etcd`;
  },
};

/** Refuses to delete or mark a backup that an EtcdRestore reads or an EtcdCluster will begin with. */
const restoredStays: ScheduleGuard = {
  name: "restored-stays",
  forbids({ restoring }, step) {
    // A backup that stored nothing cannot be read, so a run that replaces it need not wait.
    if (!givesUp(step)) return undefined;
    if (step.backup.status?.phase !== "Completed") return undefined;
    const { name } = step.backup.metadata;
    return restoring.has(name)
      ? `an EtcdRestore reads EtcdBackup ${name}, or an EtcdCluster will begin with it`
      : undefined;
  },
};

/** Refuses to mark an object without spec.retention: a history limit leaves objects to deletionPolicy. */
const objectByRetention: ScheduleGuard = {
  name: "object-by-retention",
  forbids({ schedule }, step) {
    if (schedule.spec.retention !== undefined) {
      if (step.do !== "deleteBackup" || step.backup.status?.phase !== "Completed") return undefined;
      return isObjectGoing(step.backup) ? undefined : `the object of ${step.backup.metadata.name} would stay forever`;
    }
    return step.do === "giveObject" ? "spec.retention is not set" : undefined;
  },
};

/** Invariants of a schedule. Each can refuse a step of any rule. */
export const SCHEDULE_GUARDS: readonly ScheduleGuard[] = [
  ownOnly,
  onceOnly,
  lastGoodStays,
  restoredStays,
  objectByRetention,
];
