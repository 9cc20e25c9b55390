import { decide, type Plan, type Resting } from "#runtime/decide.ts";
import { USER_GUARDS } from "#user/guards.ts";
import { awaitBinding } from "#user/rules/binding/await-binding.ts";
import { awaitCertificate } from "#user/rules/binding/await-certificate.ts";
import { awaitPassword } from "#user/rules/binding/await-password.ts";
import { bindingEnds } from "#user/rules/binding/binding-ends.ts";
import { bindingTaken } from "#user/rules/binding/binding-taken.ts";
import { requestCertificate } from "#user/rules/binding/request-certificate.ts";
import { tellTrust } from "#user/rules/binding/tell-trust.ts";
import { writeBinding } from "#user/rules/binding/write-binding.ts";
import { addUser } from "#user/rules/etcd/add-user.ts";
import { awaitEtcd } from "#user/rules/etcd/await-etcd.ts";
import { awaitRole } from "#user/rules/etcd/await-role.ts";
import { claimUser } from "#user/rules/etcd/claim-user.ts";
import { grantRole } from "#user/rules/etcd/grant-role.ts";
import { nameTaken } from "#user/rules/etcd/name-taken.ts";
import { remakeUser } from "#user/rules/etcd/remake-user.ts";
import { revokeRole } from "#user/rules/etcd/revoke-role.ts";
import { setPassword } from "#user/rules/etcd/set-password.ts";
import { awaitCluster } from "#user/rules/life/await-cluster.ts";
import { deleteUser } from "#user/rules/life/delete-user.ts";
import { holdUser } from "#user/rules/life/hold-user.ts";
import { refuseUser } from "#user/rules/life/refuse-user.ts";
import { releaseUser } from "#user/rules/life/release-user.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import type { UserRule, UserStep } from "#user/step.ts";

/** This list is the behaviour of a user: the first rule with an opinion wins, so its place here is part of each rule. */
export const USER_RULES: readonly UserRule[] = [
  bindingEnds, // It only makes a remark, which has to be told whatever else is done.
  releaseUser, // It comes before all that waits: whose cluster is gone waits for nothing.
  awaitCluster, // It comes before all that needs etcd.
  awaitEtcd, // It comes before all that depends on what etcd has.
  deleteUser, // It comes before all that makes anything.
  tellTrust, // It comes before the refusal, which ends all else.
  refuseUser, // It comes before anything is made that nobody could use, or that is the operator's own.
  nameTaken, // It comes before anything is made for a name that is somebody else's.
  holdUser, // It comes before anything is made that nobody would take back.
  claimUser, // It comes before the user is made: a crash in between leaves a record, and no user of whom nobody knows whose it is.
  revokeRole, // It comes before all that may wait: nobody keeps what was taken away.
  bindingTaken, // It comes before our own Secret is made.
  requestCertificate, // It comes before what waits for it.
  writeBinding, // It comes before etcd gets the password: what etcd has and nobody knows would be lost by a crash.
  remakeUser,
  addUser,
  setPassword,
  grantRole,
  awaitPassword, // It comes after all that can be done without the password.
  awaitBinding, // It comes after all that can be done without the binding.
  awaitCertificate,
  awaitRole, // It comes last: the user has everything else.
];

/** What is to be done about this snapshot. Pure and total. */
export function planUser(snapshot: UserSnapshot, resting?: Resting<UserStep>): Plan<UserStep> {
  return decide(USER_RULES, USER_GUARDS, snapshot, resting);
}
