import { spreadMs } from "#access/spread.ts";
import { failingStatus } from "#access/word.ts";
import { ETCD_USERS, type EtcdUserStatus } from "#api/v1beta1/user.ts";
import type { Controller } from "#runtime/controller.ts";
import { statusWriter } from "#runtime/status-writer.ts";
import { actOnUser, type UserWrites } from "#user/act.ts";
import { observeUser, type UserReads } from "#user/observe.ts";
import { planUser } from "#user/plan.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import { userStatus } from "#user/status.ts";
import { targetTextOf, type UserStep } from "#user/step.ts";

/**
 * Interval of the periodic recheck in milliseconds: drift in etcd, which no Kubernetes event reports, is detected
 * within it.
 */
const REST_MS = 5 * 60_000;

/** The controller of EtcdUser: observe, plan, act and status. */
export function userController(
  writes: UserWrites,
  reads: UserReads,
): Controller<UserSnapshot, UserStep, EtcdUserStatus> {
  const report = statusWriter({
    kube: writes.kube,
    resource: ETCD_USERS,
    cache: reads.users,
    clock: reads.clock,
    failing: failingStatus,
    objectOf: ({ user }: UserSnapshot) => user,
  });
  return {
    name: "user",
    restMs: () => REST_MS,
    observe: (key, signal) => observeUser(reads, key, signal),
    plan: (snapshot, resting) => spreadMs(planUser(snapshot, resting), snapshot.user, REST_MS),
    target: targetTextOf,
    act: (step, snapshot, signal) => actOnUser(writes, step, snapshot, signal),
    status: userStatus,
    ...report,
    isRoutine: (rule) => rule === "hold-user" || rule === "claim-user",
  };
}
