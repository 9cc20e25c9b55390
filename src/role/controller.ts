import { spreadMs } from "#access/spread.ts";
import { failingStatus } from "#access/word.ts";
import { ETCD_ROLES, type EtcdRoleStatus } from "#api/v1beta1/role.ts";
import { actOnRole, type RoleWrites } from "#role/act.ts";
import { observeRole, type RoleReads } from "#role/observe.ts";
import { planRole } from "#role/plan.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import { roleStatus } from "#role/status.ts";
import { type RoleStep, targetTextOf } from "#role/step.ts";
import type { Controller } from "#runtime/controller.ts";
import { statusWriter } from "#runtime/status-writer.ts";

/**
 * Interval of the periodic recheck in milliseconds: drift in etcd, which no Kubernetes event reports, is detected
 * within it.
 */
const REST_MS = 5 * 60_000;

/** The controller of EtcdRole: observe, plan, act and status. */
export function roleController(
  writes: RoleWrites,
  reads: RoleReads,
): Controller<RoleSnapshot, RoleStep, EtcdRoleStatus> {
  const report = statusWriter({
    kube: writes.kube,
    resource: ETCD_ROLES,
    cache: reads.roles,
    clock: reads.clock,
    failing: failingStatus,
    objectOf: ({ role }: RoleSnapshot) => role,
  });
  return {
    name: "role",
    restMs: () => REST_MS,
    observe: (key, signal) => observeRole(reads, key, signal),
    plan: (snapshot, resting) => spreadMs(planRole(snapshot, resting), snapshot.role, REST_MS),
    target: targetTextOf,
    act: (step, snapshot, signal) => actOnRole(writes, step, snapshot, signal),
    status: roleStatus,
    ...report,
    isRoutine: (rule) => rule === "hold-role" || rule === "claim-role",
  };
}
