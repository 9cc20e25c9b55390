import { decide, type Plan, type Resting } from "#runtime/decide.ts";
import { USER_GUARDS } from "#user/guards.ts";
import { awaitBinding } from "#user/rules/binding/await-binding.ts";
import { awaitCertificate } from "#user/rules/binding/await-certificate.ts";
import { awaitPassword } from "#user/rules/binding/await-password.ts";
import { bindingExpires } from "#user/rules/binding/binding-expires.ts";
import { bindingTaken } from "#user/rules/binding/binding-taken.ts";
import { publishTrust } from "#user/rules/binding/publish-trust.ts";
import { renewBinding } from "#user/rules/binding/renew-binding.ts";
import { requestCertificate } from "#user/rules/binding/request-certificate.ts";
import { writeBinding } from "#user/rules/binding/write-binding.ts";
import { addUser } from "#user/rules/etcd/add-user.ts";
import { awaitEtcd } from "#user/rules/etcd/await-etcd.ts";
import { awaitRole } from "#user/rules/etcd/await-role.ts";
import { claimUser } from "#user/rules/etcd/claim-user.ts";
import { grantRole } from "#user/rules/etcd/grant-role.ts";
import { nameTaken } from "#user/rules/etcd/name-taken.ts";
import { recreateUser } from "#user/rules/etcd/recreate-user.ts";
import { revokeRole } from "#user/rules/etcd/revoke-role.ts";
import { setPassword } from "#user/rules/etcd/set-password.ts";
import { awaitCluster } from "#user/rules/life/await-cluster.ts";
import { deleteUser } from "#user/rules/life/delete-user.ts";
import { holdUser } from "#user/rules/life/hold-user.ts";
import { refuseUser } from "#user/rules/life/refuse-user.ts";
import { releaseUser } from "#user/rules/life/release-user.ts";
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
