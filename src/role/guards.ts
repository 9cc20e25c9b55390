import { notDeleted, notHeld, notOwn, notReady, unaskedClaim } from "#access/claim.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleGuard, RoleStep } from "#role/step.ts";

/** Whether the step changes something in etcd. */
function isInEtcd(step: RoleStep): boolean {
  return step.do !== "holdRole" && step.do !== "releaseRole" && step.do !== "claimRole";
}

/** Whether the step takes back what was made. */
function isEnd(step: RoleStep): boolean {
  return step.do === "releaseRole" || step.do === "deleteRole";
}

/** In etcd no role is changed or deleted that is not this object's, by its own record and by age. */
const ownOnly: RoleGuard = {
  name: "own-only",
  forbids: (snapshot, step) => (isInEtcd(step) ? notOwn(claimOf(snapshot)) : undefined),
};

/** What is somebody else's is recorded as this object's only when spec.takeOver says so, and when nobody older has it. */
const claimIsAsked: RoleGuard = {
  name: "claim-is-asked",
  forbids: (snapshot, step) => (step.do === "claimRole" ? unaskedClaim(claimOf(snapshot)) : undefined),
};

/** Nothing is made in etcd for an object that would go without taking it back, or that is going. */
const heldFirst: RoleGuard = {
  name: "held-first",
  forbids: (snapshot, step) => (isEnd(step) ? undefined : notHeld(claimOf(snapshot), step.do === "holdRole")),
};

/** Only an EtcdRole that is being deleted loses its role, and its finalizer. */
const deletionIsAsked: RoleGuard = {
  name: "deletion-is-asked",
  forbids: (snapshot, step) => (isEnd(step) ? notDeleted(claimOf(snapshot)) : undefined),
};

/** Nothing is changed in an etcd whose EtcdCluster is paused, asleep, not formed or going. */
const placeIsReady: RoleGuard = {
  name: "place-is-ready",
  forbids: (snapshot, step) => (isInEtcd(step) ? notReady(claimOf(snapshot)) : undefined),
};

/** These are the invariants of a role. Each may hold back a step of any rule. */
export const ROLE_GUARDS: readonly RoleGuard[] = [ownOnly, claimIsAsked, heldFirst, deletionIsAsked, placeIsReady];
