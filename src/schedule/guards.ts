import { dueTimeOf } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { countedIn, isObjectGoing, keepersByEtcd } from "#schedule/disposal.ts";
import { runsOf } from "#schedule/runs.ts";
import { etcdOf, isDeleting, isOwned } from "#schedule/snapshot.ts";
import type { ScheduleGuard } from "#schedule/step.ts";

/** A backup that somebody else has made is never changed or deleted; only the mark that a schedule which is gone has left is taken back. */
const ownOnly: ScheduleGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (step.do === "createBackup" || isOwned(snapshot, step.backup)) return undefined;
    const isLeft = snapshot.left.some(({ metadata }) => metadata.uid === step.backup.metadata.uid);
    if (step.do === "keepObject" && isLeft) return undefined;
    return `EtcdBackup ${step.backup.metadata.name} is not this schedule's`;
  },
};

/** No run and no archive is made twice, nor a run before it is due, after its schedule was suspended or deleted, or when a later one has been made. */
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
    return lastMs !== undefined && dueMs <= lastMs ? `EtcdBackup ${name} was made, or a later one` : undefined;
  },
};

/** The last good backup of an etcd, by its revision and by the clock, is never given away, and none before a later one of the same etcd is stored. */
const lastGoodStays: ScheduleGuard = {
  name: "last-good-stays",
  forbids(snapshot, step) {
    if (step.do !== "deleteBackup" && step.do !== "giveObject") return undefined;
    const { backup, keepers } = step;
    if (backup.status?.phase !== "Completed") return undefined;
    const latest = keepersByEtcd(countedIn(snapshot)).get(etcdOf(backup)) ?? [];
    const named = new Set(keepers.map(({ metadata }) => metadata.uid));
    const isLeft = ({ metadata: { uid } }: EtcdBackup) => uid !== backup.metadata.uid && named.has(uid);
    if (latest.length > 0 && latest.every(isLeft)) return undefined;
    return `EtcdBackup ${backup.metadata.name} is the last good one of its etcd`;
  },
};

/** A backup from which an EtcdRestore is to be filled, or with which an EtcdCluster is to begin, is neither deleted nor given away. */
const restoredStays: ScheduleGuard = {
  name: "restored-stays",
  forbids({ restoring }, step) {
    // What has stored nothing can be read by nobody, and a run that replaces it is not held up.
    if (step.do !== "deleteBackup" && step.do !== "giveObject") return undefined;
    if (step.backup.status?.phase !== "Completed") return undefined;
    const { name } = step.backup.metadata;
    return restoring.has(name)
      ? `an EtcdRestore reads EtcdBackup ${name}, or an EtcdCluster is to begin with it`
      : undefined;
  },
};

/** An object is given away only by a retention; what a history limit deletes leaves its object as it is. */
const objectByRetention: ScheduleGuard = {
  name: "object-by-retention",
  forbids({ schedule }, step) {
    if (schedule.spec.retention !== undefined) {
      if (step.do !== "deleteBackup" || step.backup.status?.phase !== "Completed") return undefined;
      return isObjectGoing(step.backup) ? undefined : `the object of ${step.backup.metadata.name} would stay for ever`;
    }
    return step.do === "giveObject" ? "there is no spec.retention" : undefined;
  },
};

/** These are the invariants of a schedule. Each may hold back a step of any rule. */
export const SCHEDULE_GUARDS: readonly ScheduleGuard[] = [
  ownOnly,
  onceOnly,
  lastGoodStays,
  restoredStays,
  objectByRetention,
];
