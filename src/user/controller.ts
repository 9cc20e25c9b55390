import { spreadMs } from "#access/spread.ts";
import { failingStatus } from "#access/word.ts";
import { ETCD_USERS, type EtcdUser, type EtcdUserStatus } from "#api/v1beta1/user.ts";
import { isSameData } from "#base/hash.ts";
import { apiVersionOf } from "#kube/kinds.ts";
import type { Controller, Subject } from "#runtime/controller.ts";
import { actOnUser, type UserWrites, writeStatus } from "#user/act.ts";
import { observeUser, type UserReads } from "#user/observe.ts";
import { planUser } from "#user/plan.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import { userStatus } from "#user/status.ts";
import { targetTextOf, type UserStep } from "#user/step.ts";

/** How long drift in etcd stays unseen at most, and no event of Kubernetes tells of it; in milliseconds. */
const REST_MS = 5 * 60_000;

/** Joins what the room of EtcdUser does: observe, plan, act and status. */
export function userController(
  writes: UserWrites,
  reads: UserReads,
): Controller<UserSnapshot, UserStep, EtcdUserStatus> {
  const told = async (user: EtcdUser, status: EtcdUserStatus, signal: AbortSignal) =>
    isSameData(status, user.status ?? {}) ? undefined : await writeStatus(writes.kube, user, status, signal);
  return {
    name: "user",
    restMs: () => REST_MS,
    observe: (key, signal) => observeUser(reads, key, signal),
    plan: (snapshot, resting) => spreadMs(planUser(snapshot, resting), snapshot.user, REST_MS),
    target: targetTextOf,
    act: (step, snapshot, signal) => actOnUser(writes, step, snapshot, signal),
    status: userStatus,
    writeStatus: ({ user }, status, signal) => told(user, status, signal),
    subject: ({ user }) => subjectOf(user),
    subjectOf: (key) => {
      const user = reads.users.get(key);
      return user && subjectOf(user);
    },
    writeFailing: async (key, because, signal) => {
      const user = reads.users.get(key);
      if (user === undefined) return undefined;
      return await told(user, failingStatus(user, because, reads.clock.wallMs()), signal);
    },
    isRoutine: (rule) => rule === "hold-user" || rule === "claim-user",
  };
}

function subjectOf({ metadata: { namespace, name, uid } }: EtcdUser): Subject {
  return { apiVersion: apiVersionOf(ETCD_USERS), kind: ETCD_USERS.kind, namespace, name, uid };
}
