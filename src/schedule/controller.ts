import { SCHEDULE_LABEL } from "#api/names.ts";
import { ETCD_BACKUP_SCHEDULES, type EtcdBackupScheduleStatus } from "#api/v1beta1/schedule.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { type Controller, type Key, keysNamedBy } from "#runtime/controller.ts";
import { statusWriter } from "#runtime/status-writer.ts";
import { actOnSchedule, type ScheduleWrites } from "#schedule/act.ts";
import { observeSchedule, type ScheduleReads } from "#schedule/observe.ts";
import { planSchedule } from "#schedule/plan.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import { failingStatus, scheduleStatus } from "#schedule/status.ts";
import { type ScheduleStep, targetTextOf } from "#schedule/step.ts";

/** Recheck interval, in milliseconds: observing costs nothing, and timers do not notice a clock that is set forward. */
const REST_MS = 60_000;

/** The controller of EtcdBackupSchedule: observe, plan, act and status. */
export function scheduleController(
  kube: ScheduleWrites,
  reads: ScheduleReads,
): Controller<ScheduleSnapshot, ScheduleStep, EtcdBackupScheduleStatus> {
  const report = statusWriter({
    kube,
    resource: ETCD_BACKUP_SCHEDULES,
    cache: reads.schedules,
    clock: reads.clock,
    failing: failingStatus,
    objectOf: ({ schedule }: ScheduleSnapshot) => schedule,
  });
  return {
    name: "schedule",
    restMs: () => REST_MS,
    observe: (key) => Promise.resolve(observeSchedule(reads, key)),
    plan: planSchedule,
    target: targetTextOf,
    act: (step, snapshot, signal) => actOnSchedule(kube, step, snapshot, signal),
    status: scheduleStatus,
    ...report,
  };
}

/** The schedule of a backup, by its label. */
export function scheduleKeysFor(object: KubeObject): readonly Key[] {
  return keysNamedBy(object, SCHEDULE_LABEL);
}
