import { decide, type Plan, type Resting } from "#runtime/decide.ts";
import { USER_GUARDS } from "#user/guards.ts";
import {
  awaitBinding,
  awaitCertificate,
  awaitPassword,
  bindingExpires,
  bindingTaken,
  publishTrust,
  renewBinding,
  requestCertificate,
  writeBinding,
} from "#user/rules/binding.ts";
import {
  addUser,
  awaitEtcd,
  awaitRole,
  claimUser,
  grantRole,
  nameTaken,
  recreateUser,
  revokeRole,
  setPassword,
} from "#user/rules/etcd.ts";
import { awaitCluster, deleteUser, holdUser, refuseUser, releaseUser } from "#user/rules/life.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import type { UserRule, UserStep } from "#user/step.ts";

/** The rules in order of priority: the first rule that decides wins, so the position is part of each rule. */
export const USER_RULES: readonly UserRule[] = [
  bindingExpires, // First: it only adds a notice, which is given whatever else is decided.
  releaseUser, // Before all waits: an EtcdUser without a cluster waits for nothing.
  renewBinding, // Before `awaitCluster`: certificates expire during a pause, too.
  awaitCluster, // Before all that needs etcd.
  awaitEtcd, // Before all that depends on etcd's answers.
  deleteUser, // Before all creations.
  publishTrust, // Before the refusal, which stops everything else.
  refuseUser, // Before creating anything unusable, and before changing the operator's own user.
  nameTaken, // Before creating anything under a name that is taken.
  holdUser, // Before creating anything that needs cleanup.
  claimUser, // Before the user is created in etcd: after a crash in between, the status still claims the user.
  revokeRole, // Before all waits: access is withdrawn as early as possible.
  bindingTaken, // Before the EtcdUser's Secret is created.
  requestCertificate, // Before the wait for it.
  writeBinding, // Before etcd gets the password: if etcd had it first, a crash would lose it.
  recreateUser,
  addUser,
  setPassword,
  grantRole,
  awaitPassword, // After all that is possible without the password.
  awaitBinding, // After all that is possible without the binding.
  awaitCertificate,
  awaitRole, // Last: the user has everything else.
];

/** Decides the next step for a snapshot. Pure and total. */
export function planUser(snapshot: UserSnapshot, resting?: Resting<UserStep>): Plan<UserStep> {
  return decide(USER_RULES, USER_GUARDS, snapshot, resting);
}
