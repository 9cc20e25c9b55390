import { ROLE_GUARDS } from "#role/guards.ts";
import { addRole } from "#role/rules/etcd/add-role.ts";
import { awaitEtcd } from "#role/rules/etcd/await-etcd.ts";
import { claimRole } from "#role/rules/etcd/claim-role.ts";
import { grantPermission } from "#role/rules/etcd/grant-permission.ts";
import { nameTaken } from "#role/rules/etcd/name-taken.ts";
import { revokePermission } from "#role/rules/etcd/revoke-permission.ts";
import { awaitCluster } from "#role/rules/life/await-cluster.ts";
import { deleteRole } from "#role/rules/life/delete-role.ts";
import { holdRole } from "#role/rules/life/hold-role.ts";
import { releaseRole } from "#role/rules/life/release-role.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import type { RoleRule, RoleStep } from "#role/step.ts";
import { decide, type Plan, type Resting } from "#runtime/decide.ts";

/** This list is the behaviour of a role: the first rule with an opinion wins, so its place here is part of each rule. */
export const ROLE_RULES: readonly RoleRule[] = [
  releaseRole, // It comes before all that waits: whose cluster is gone waits for nothing.
  awaitCluster, // It comes before all that needs etcd.
  awaitEtcd, // It comes before all that depends on what etcd has.
  deleteRole, // It comes before all that makes anything.
  nameTaken, // It comes before anything is made for a name that is somebody else's.
  holdRole, // It comes before anything is made that nobody would take back.
  claimRole, // It comes before the role is made: a crash in between leaves a record, and no role of which nobody knows whose it is.
  addRole,
  grantPermission, // It comes before what is not wanted goes: nobody loses in between what is to stay.
  revokePermission,
];

/** What is to be done about this snapshot. Pure and total. */
export function planRole(snapshot: RoleSnapshot, resting?: Resting<RoleStep>): Plan<RoleStep> {
  return decide(ROLE_RULES, ROLE_GUARDS, snapshot, resting);
}
