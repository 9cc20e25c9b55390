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

/** The rules in order of priority: the first rule that decides wins, so the position is part of each rule. */
export const ROLE_RULES: readonly RoleRule[] = [
  releaseRole, // Before all waits: an EtcdRole without a cluster waits for nothing.
  awaitCluster, // Before all that needs etcd.
  awaitEtcd, // Before all that depends on etcd's answers.
  deleteRole, // Before all creations.
  nameTaken, // Before creating anything under a name that is taken.
  holdRole, // Before creating anything that needs cleanup.
  claimRole, // Before the role is created in etcd: after a crash in between, the status still claims the role.
  addRole,
  grantPermission, // Before revoking: no user loses a wanted permission in between.
  revokePermission,
];

/** Decides the next step for a snapshot. Pure and total. */
export function planRole(snapshot: RoleSnapshot, resting?: Resting<RoleStep>): Plan<RoleStep> {
  return decide(ROLE_RULES, ROLE_GUARDS, snapshot, resting);
}
