import { decide, type Plan, type Resting } from "#runtime/decide.ts";
import { SCHEDULE_GUARDS } from "#schedule/guards.ts";
import { beginArchive } from "#schedule/rules/archive/begin-archive.ts";
import { closeGap } from "#schedule/rules/archive/close-gap.ts";
import { endArchive } from "#schedule/rules/archive/end-archive.ts";
import { deleteBackup } from "#schedule/rules/disposal/delete-backup.ts";
import { giveObject } from "#schedule/rules/disposal/give-object.ts";
import { keepObject } from "#schedule/rules/disposal/keep-object.ts";
import { keepOrphaned } from "#schedule/rules/disposal/keep-orphaned.ts";
import { deleting } from "#schedule/rules/life/deleting.ts";
import { refuseSchedule } from "#schedule/rules/life/refuse-schedule.ts";
import { awaitBackup } from "#schedule/rules/runs/await-backup.ts";
import { awaitDue } from "#schedule/rules/runs/await-due.ts";
import { clusterAsleep } from "#schedule/rules/runs/cluster-asleep.ts";
import { countAnew } from "#schedule/rules/runs/count-anew.ts";
import { createBackup } from "#schedule/rules/runs/create-backup.ts";
import { nameTaken } from "#schedule/rules/runs/name-taken.ts";
import { recordRun } from "#schedule/rules/runs/record-run.ts";
import { replaceBackup } from "#schedule/rules/runs/replace-backup.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import type { ScheduleRule, ScheduleStep } from "#schedule/step.ts";

/** This list is the behaviour of a schedule: the first rule with an opinion wins, so its place here is part of each rule. */
export const SCHEDULE_RULES: readonly ScheduleRule[] = [
  keepOrphaned, // It comes before all that is about the schedule: that may be gone.
  deleting, // It comes before all that makes or deletes anything.
  refuseSchedule, // It comes before all that counts by the schedule or its time zone.
  countAnew, // It comes before the first run is made by the schedule as it is now.
  recordRun, // It comes before its name is taken for somebody else's.
  endArchive, // It comes before another one is made.
  beginArchive, // It comes before the runs: what is not stored now is lost.
  replaceBackup, // It comes before the backup that takes its place.
  createBackup, // It comes before all that is deleted: a run that is due has no time.
  closeGap, // It comes after a run that is due, which serves as well.
  keepObject, // It comes before anything is deleted.
  deleteBackup, // It comes before another object is given away, so that one at most is marked whenever the operator stops.
  giveObject,
  awaitBackup, // It comes after what is deleted, which need not wait.
  nameTaken, // It comes long after what is ours has been recorded.
  clusterAsleep, // It comes long after what is deleted, which needs nobody who could be read.
  awaitDue, // It comes last: all is done.
];

/** What is to be done about this snapshot. Pure and total. */
export function planSchedule(snapshot: ScheduleSnapshot, resting?: Resting<ScheduleStep>): Plan<ScheduleStep> {
  return decide(SCHEDULE_RULES, SCHEDULE_GUARDS, snapshot, resting);
}
