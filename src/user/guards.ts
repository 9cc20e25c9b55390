import { userNameOf } from "#access/namesakes.ts";
import { hindranceOf } from "#access/place.ts";
import { USER_FINALIZER } from "#api/names.ts";
import { controllerOf } from "#kube/kinds.ts";
import { isClaimed, isDeleting, isOwned, type UserSnapshot } from "#user/snapshot.ts";
import type { UserGuard, UserStep } from "#user/step.ts";

/** Whether the step changes something in etcd. */
function isInEtcd({ do: what }: UserStep): boolean {
  const kinds: readonly UserStep["do"][] = ["addUser", "setPassword", "grantRole", "revokeRole", "deleteUser"];
  return kinds.includes(what);
}

/** In etcd no user is changed or deleted that is not this object's, by its own record and by age. */
const ownOnly: UserGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (!isInEtcd(step)) return undefined;
    if (snapshot.elder !== undefined) return `the user is EtcdUser ${snapshot.elder}'s`;
    return isClaimed(snapshot) ? undefined : "it is not on record that the user is this object's";
  },
};

/** What is somebody else's is recorded as this object's only when spec.takeOver says so, and when nobody older has it. */
const claimIsAsked: UserGuard = {
  name: "claim-is-asked",
  forbids({ user, elder, found }, step) {
    if (step.do !== "claimUser") return undefined;
    if (elder !== undefined) return `the user is EtcdUser ${elder}'s`;
    if (found.is === "absent" || (found.is === "present" && user.spec.takeOver)) return undefined;
    return "the user may be somebody else's";
  },
};

/** The user by which the operator itself is known to etcd is changed by no EtcdUser: it would lock itself out. */
const notTheOperator: UserGuard = {
  name: "not-the-operator",
  forbids({ user, operatorName }, step) {
    if (!isInEtcd(step) && step.do !== "claimUser") return undefined;
    return userNameOf(user) === operatorName ? `user ${operatorName} is the operator's own` : undefined;
  },
};

/** Nothing is made for an object that would go without taking it back, or that is going. */
const heldFirst: UserGuard = {
  name: "held-first",
  forbids({ user }, step) {
    if (step.do === "releaseUser" || step.do === "deleteUser") return undefined;
    if (isDeleting({ user })) return "the EtcdUser is being deleted";
    if (step.do === "holdUser") return undefined;
    return user.metadata.finalizers?.includes(USER_FINALIZER) === true
      ? undefined
      : "the EtcdUser has no finalizer yet";
  },
};

/** Only an EtcdUser that is being deleted loses its finalizer, and its user, but for one that cannot get a password. */
const deletionIsAsked: UserGuard = {
  name: "deletion-is-asked",
  forbids(snapshot, step) {
    if (step.do !== "releaseUser" && step.do !== "deleteUser") return undefined;
    if (isDeleting(snapshot)) return undefined;
    const isToBeRemade = snapshot.password.is === "present" && snapshot.password.value === "none";
    return step.do === "deleteUser" && isToBeRemade ? undefined : "nobody has deleted the EtcdUser";
  },
};

/** Nothing is changed in an etcd whose EtcdCluster is paused, asleep, not formed or going. */
const placeIsReady: UserGuard = {
  name: "place-is-ready",
  forbids({ user, cluster }: UserSnapshot, step) {
    const isChange = isInEtcd(step) || step.do === "writeBinding" || step.do === "requestCertificate";
    return isChange ? hindranceOf(user.spec.clusterName, cluster)?.because : undefined;
  },
};

/** A Secret or a Certificate of somebody else is never written, nor is etcd given what it says. */
const ownObjects: UserGuard = {
  name: "own-objects",
  forbids(snapshot, step) {
    const { user, binding, request } = snapshot;
    if (step.do === "requestCertificate") {
      if (request.is !== "present" || controllerOf(request.value)?.uid === user.metadata.uid) return undefined;
      return `Certificate ${request.value.metadata.name} exists, and this EtcdUser has not made it`;
    }
    if (step.do !== "writeBinding" && step.do !== "setPassword" && step.do !== "addUser") return undefined;
    if (binding.is !== "present" || isOwned(snapshot, binding.value)) return undefined;
    const isUsed = step.do === "writeBinding" || step.from !== undefined;
    return isUsed ? `Secret ${binding.value.name} exists, and this EtcdUser has not made it` : undefined;
  },
};

/** A certificate that works is not replaced by one that some member would not believe. */
const trustedFirst: UserGuard = {
  name: "trusted-first",
  forbids({ binding, doubters }, step) {
    if (step.do !== "writeBinding" || step.wish.pair === "keep" || step.wish.pair === "none") return undefined;
    const isWorking = binding.is === "present" && binding.value.certificate?.trouble === undefined;
    if (!isWorking || binding.value.certificate === undefined || doubters.length === 0) return undefined;
    return `${doubters.join(", ")} would not believe the new certificate`;
  },
};

/** These are the invariants of a user. Each may hold back a step of any rule. */
export const USER_GUARDS: readonly UserGuard[] = [
  ownOnly,
  claimIsAsked,
  notTheOperator,
  heldFirst,
  deletionIsAsked,
  placeIsReady,
  ownObjects,
  trustedFirst,
];
