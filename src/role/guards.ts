import { hindranceOf } from "#access/place.ts";
import { ROLE_FINALIZER } from "#api/names.ts";
import { isClaimed, isDeleting, type RoleSnapshot } from "#role/snapshot.ts";
import type { RoleGuard, RoleStep } from "#role/step.ts";

/** Whether the step changes something in etcd. */
function isInEtcd(step: RoleStep): boolean {
  return step.do !== "holdRole" && step.do !== "releaseRole" && step.do !== "claimRole";
}

/** In etcd no role is changed or deleted that is not this object's, by its own record and by age. */
const ownOnly: RoleGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (!isInEtcd(step)) return undefined;
    if (snapshot.elder !== undefined) return `the role is EtcdRole ${snapshot.elder}'s`;
    return isClaimed(snapshot) ? undefined : "it is not on record that the role is this object's";
  },
};

/** What is somebody else's is recorded as this object's only when spec.takeOver says so, and when nobody older has it. */
const claimIsAsked: RoleGuard = {
  name: "claim-is-asked",
  forbids({ role, elder, found }, step) {
    if (step.do !== "claimRole") return undefined;
    if (elder !== undefined) return `the role is EtcdRole ${elder}'s`;
    if (found.is === "absent" || (found.is === "present" && role.spec.takeOver)) return undefined;
    return "the role may be somebody else's";
  },
};

/** Nothing is made in etcd for an object that would go without taking it back, or that is going. */
const heldFirst: RoleGuard = {
  name: "held-first",
  forbids({ role }, step) {
    if (step.do === "releaseRole" || step.do === "deleteRole") return undefined;
    if (isDeleting({ role })) return "the EtcdRole is being deleted";
    if (step.do === "holdRole") return undefined;
    return role.metadata.finalizers?.includes(ROLE_FINALIZER) === true
      ? undefined
      : "the EtcdRole has no finalizer yet";
  },
};

/** Only an EtcdRole that is being deleted loses its role, and its finalizer. */
const deletionIsAsked: RoleGuard = {
  name: "deletion-is-asked",
  forbids(snapshot, step) {
    if (step.do !== "releaseRole" && step.do !== "deleteRole") return undefined;
    return isDeleting(snapshot) ? undefined : "nobody has deleted the EtcdRole";
  },
};

/** Nothing is changed in an etcd whose EtcdCluster is paused, asleep, not formed or going. */
const placeIsReady: RoleGuard = {
  name: "place-is-ready",
  forbids({ role, cluster }: RoleSnapshot, step) {
    return isInEtcd(step) ? hindranceOf(role.spec.clusterName, cluster)?.because : undefined;
  },
};

/** These are the invariants of a role. Each may hold back a step of any rule. */
export const ROLE_GUARDS: readonly RoleGuard[] = [ownOnly, claimIsAsked, heldFirst, deletionIsAsked, placeIsReady];
