import { spreadMs } from "#access/spread.ts";
import { failingStatus } from "#access/word.ts";
import { ETCD_ROLES, type EtcdRole, type EtcdRoleStatus } from "#api/v1beta1/role.ts";
import { isSameData } from "#base/hash.ts";
import { apiVersionOf } from "#kube/kinds.ts";
import { actOnRole, type RoleWrites, writeStatus } from "#role/act.ts";
import { observeRole, type RoleReads } from "#role/observe.ts";
import { planRole } from "#role/plan.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import { roleStatus } from "#role/status.ts";
import { type RoleStep, targetTextOf } from "#role/step.ts";
import type { Controller, Subject } from "#runtime/controller.ts";

/** How long drift in etcd stays unseen at most, and no event of Kubernetes tells of it; in milliseconds. */
const REST_MS = 5 * 60_000;

/** Joins what the room of EtcdRole does: observe, plan, act and status. */
export function roleController(
  writes: RoleWrites,
  reads: RoleReads,
): Controller<RoleSnapshot, RoleStep, EtcdRoleStatus> {
  const told = async (role: EtcdRole, status: EtcdRoleStatus, signal: AbortSignal) =>
    isSameData(status, role.status ?? {}) ? undefined : await writeStatus(writes.kube, role, status, signal);
  return {
    name: "role",
    restMs: () => REST_MS,
    observe: (key, signal) => observeRole(reads, key, signal),
    plan: (snapshot, resting) => spreadMs(planRole(snapshot, resting), snapshot.role, REST_MS),
    target: targetTextOf,
    act: (step, snapshot, signal) => actOnRole(writes, step, snapshot, signal),
    status: roleStatus,
    writeStatus: ({ role }, status, signal) => told(role, status, signal),
    subject: ({ role }) => subjectOf(role),
    subjectOf: (key) => {
      const role = reads.roles.get(key);
      return role && subjectOf(role);
    },
    writeFailing: async (key, because, signal) => {
      const role = reads.roles.get(key);
      if (role === undefined) return undefined;
      return await told(role, failingStatus(role, because, reads.clock.wallMs()), signal);
    },
    isRoutine: (rule) => rule === "hold-role" || rule === "claim-role",
  };
}

function subjectOf({ metadata: { namespace, name, uid } }: EtcdRole): Subject {
  return { apiVersion: apiVersionOf(ETCD_ROLES), kind: ETCD_ROLES.kind, namespace, name, uid };
}
