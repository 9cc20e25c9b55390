import { ROLE_GUARDS } from "#role/guards.ts";
import { addRole, awaitEtcd, claimRole, grantPermission, nameTaken, revokePermission } from "#role/rules/etcd.ts";
import { awaitCluster, deleteRole, holdRole, releaseRole } from "#role/rules/life.ts";
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
