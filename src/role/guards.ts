import { notDeleted, notHeld, notOwn, notReady, unaskedClaim } from "#access/claim.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleGuard, RoleStep } from "#role/step.ts";

/**
 * Where each kind of step writes, and whether it undoes what was created. A new kind without an entry does not compile.
 */
const TRAITS = {
  holdRole: { isInEtcd: false, isEnd: false },
  releaseRole: { isInEtcd: false, isEnd: true },
  claimRole: { isInEtcd: false, isEnd: false },
  addRole: { isInEtcd: true, isEnd: false },
  grantPermission: { isInEtcd: true, isEnd: false },
  revokePermission: { isInEtcd: true, isEnd: false },
  deleteRole: { isInEtcd: true, isEnd: true },
} as const satisfies Record<RoleStep["do"], { isInEtcd: boolean; isEnd: boolean }>;

/** Changes or deletes a role in etcd only if this object's status claims it and no older object has the name. */
const ownOnly: RoleGuard = {
  name: "own-only",
  forbids: (snapshot, step) => (TRAITS[step.do].isInEtcd ? notOwn(claimOf(snapshot)) : undefined),
};

/** Claims an existing role only with spec.takeOver, and only if no older object has the name. */
const claimIsAsked: RoleGuard = {
  name: "claim-is-asked",
  forbids: (snapshot, step) => (step.do === "claimRole" ? unaskedClaim(claimOf(snapshot)) : undefined),
};

/**
 * Creates nothing for an object without the finalizer, which would be deleted without cleanup, or for one that is being
 * deleted.
 */
const heldFirst: RoleGuard = {
  name: "held-first",
  forbids: (snapshot, step) => (TRAITS[step.do].isEnd ? undefined : notHeld(claimOf(snapshot), step.do === "holdRole")),
};

/** Deletes a role, or removes the finalizer, only when the EtcdRole is being deleted. */
const deletionIsAsked: RoleGuard = {
  name: "deletion-is-asked",
  forbids: (snapshot, step) => (TRAITS[step.do].isEnd ? notDeleted(claimOf(snapshot)) : undefined),
};

/** Changes nothing while the EtcdCluster is paused, asleep, not formed or being deleted. */
const placeIsReady: RoleGuard = {
  name: "place-is-ready",
  forbids: (snapshot, step) => (TRAITS[step.do].isInEtcd ? notReady(claimOf(snapshot)) : undefined),
};

/** The invariants of a role. Each guard may reject a step of any rule. */
export const ROLE_GUARDS: readonly RoleGuard[] = [ownOnly, claimIsAsked, heldFirst, deletionIsAsked, placeIsReady];
