import { SCHEDULE_LABEL } from "#api/names.ts";
import {
  ETCD_BACKUP_SCHEDULES,
  type EtcdBackupSchedule,
  type EtcdBackupScheduleStatus,
} from "#api/v1beta1/schedule.ts";
import { isSameData } from "#base/hash.ts";
import { apiVersionOf, type KubeObject } from "#kube/kinds.ts";
import type { Controller, Key, Subject } from "#runtime/controller.ts";
import { actOnSchedule, type ScheduleWrites, writeStatus } from "#schedule/act.ts";
import { observeSchedule, type ScheduleReads } from "#schedule/observe.ts";
import { planSchedule } from "#schedule/plan.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import { failingStatus, scheduleStatus } from "#schedule/status.ts";
import { type ScheduleStep, targetTextOf } from "#schedule/step.ts";

/** A look costs nothing, and timers do not notice when somebody puts the clock forward; in milliseconds. */
const REST_MS = 60_000;

/** Joins what the room of EtcdBackupSchedule does: observe, plan, act and status. */
export function scheduleController(
  kube: ScheduleWrites,
  reads: ScheduleReads,
): Controller<ScheduleSnapshot, ScheduleStep, EtcdBackupScheduleStatus> {
  const told = async (schedule: EtcdBackupSchedule, status: EtcdBackupScheduleStatus, signal: AbortSignal) =>
    isSameData(status, schedule.status ?? {}) ? undefined : await writeStatus(kube, schedule, status, signal);
  return {
    name: "schedule",
    restMs: () => REST_MS,
    observe: (key) => Promise.resolve(observeSchedule(reads, key)),
    plan: planSchedule,
    target: targetTextOf,
    act: (step, snapshot, signal) => actOnSchedule(kube, step, snapshot, signal),
    status: scheduleStatus,
    writeStatus: ({ schedule }, status, signal) => told(schedule, status, signal),
    subject: ({ schedule }) => subjectOf(schedule),
    subjectOf: (key) => {
      const schedule = reads.schedules.get(key);
      return schedule && subjectOf(schedule);
    },
    writeFailing: async (key, because, signal) => {
      const schedule = reads.schedules.get(key);
      if (schedule === undefined) return undefined;
      return await told(schedule, failingStatus(schedule, because, reads.clock.wallMs()), signal);
    },
  };
}

function subjectOf({ metadata: { namespace, name, uid } }: EtcdBackupSchedule): Subject {
  return { apiVersion: apiVersionOf(ETCD_BACKUP_SCHEDULES), kind: ETCD_BACKUP_SCHEDULES.kind, namespace, name, uid };
}

/** The schedule that a backup is of, by its label. */
export function scheduleKeysFor({ metadata: { namespace, labels } }: KubeObject): readonly Key[] {
  const name = labels?.[SCHEDULE_LABEL];
  return name === undefined || namespace === undefined ? [] : [{ namespace, name }];
}
