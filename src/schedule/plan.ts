import { decide, type Plan, type Resting } from "#runtime/decide.ts";
import { SCHEDULE_GUARDS } from "#schedule/guards.ts";
import { beginArchive, closeGap, endArchive } from "#schedule/rules/archive.ts";
import { deleteBackup, keepObject, keepOrphaned, releaseObject } from "#schedule/rules/disposal.ts";
import { deleting, refuseSchedule } from "#schedule/rules/life.ts";
import {
  awaitBackup,
  awaitDue,
  clusterAsleep,
  createBackup,
  nameTaken,
  recordRun,
  replaceBackup,
  restartCount,
} from "#schedule/rules/runs.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import type { ScheduleRule, ScheduleStep } from "#schedule/step.ts";

/** Rules of a schedule. The first rule that decides wins, so the order is part of each rule. */
export const SCHEDULE_RULES: readonly ScheduleRule[] = [
  keepOrphaned, // Before everything about the schedule, which may be gone.
  deleting, // Before everything that creates or deletes.
  refuseSchedule, // Before everything that depends on the schedule or its time zone.
  restartCount, // Before the first run with the present spec.
  recordRun, // Before `nameTaken`: the run's own backup may have lost its label.
  endArchive, // Before a new archive is created.
  beginArchive, // Before the runs: changes that are not archived now are lost.
  replaceBackup, // Before the backup that replaces the old one.
  createBackup, // Before every deletion: a due run is urgent.
  closeGap, // After a due run, which closes the gap as well.
  keepObject, // Before anything is deleted.
  deleteBackup, // Before another object is marked, so that at most one is marked at any time.
  releaseObject,
  awaitBackup, // After the deletions, which need not wait.
  nameTaken, // After `recordRun`, which handles the schedule's own backup.
  clusterAsleep, // After the deletions, which need no running cluster.
  awaitDue, // Last: nothing else is left to do.
];

/** Decides what to do about this snapshot. Pure and total. */
export function planSchedule(snapshot: ScheduleSnapshot, resting?: Resting<ScheduleStep>): Plan<ScheduleStep> {
  return decide(SCHEDULE_RULES, SCHEDULE_GUARDS, snapshot, resting);
}
