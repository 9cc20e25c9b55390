import { notDeleted, notHeld, notOwn, notReady, unaskedClaim } from "#access/claim.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { ROOT } from "#api/names.ts";
import { controllerOf } from "#kube/kinds.ts";
import type { BindingWish } from "#user/desired/binding.ts";
import { claimOf, isOperators, isOwned, ownBinding, type UserSnapshot, wouldOverwrite } from "#user/snapshot.ts";
import type { UserGuard, UserStep } from "#user/step.ts";

/** Whether the step changes something in etcd. */
function isInEtcd({ do: what }: UserStep): boolean {
  const kinds: readonly UserStep["do"][] = ["addUser", "setPassword", "grantRole", "revokeRole", "deleteUser"];
  return kinds.includes(what);
}

/** Whether the step takes back what was made. */
function isEnd(step: UserStep): boolean {
  return step.do === "releaseUser" || step.do === "deleteUser";
}

/** Whether the step writes a binding anew that is there already, with just the credentials that it has. */
function isRepeated(snapshot: UserSnapshot, step: UserStep): boolean {
  const own = ownBinding(snapshot);
  if (step.do !== "writeBinding" || own === undefined) return false;
  const { password, pair } = step.wish;
  return password === (own.hasPassword ? "keep" : "none") && pair === (own.certificate ? "keep" : "none");
}

function isPairNew(pair: BindingWish["pair"]): boolean {
  return pair === "issue" || pair === "copy";
}

/** In etcd no user is changed or deleted that is not this object's, by its own record and by age. */
const ownOnly: UserGuard = {
  name: "own-only",
  forbids: (snapshot, step) => (isInEtcd(step) ? notOwn(claimOf(snapshot)) : undefined),
};

/** What is somebody else's is recorded as this object's only when spec.takeOver says so, and when nobody older has it. */
const claimIsAsked: UserGuard = {
  name: "claim-is-asked",
  forbids: (snapshot, step) => (step.do === "claimUser" ? unaskedClaim(claimOf(snapshot)) : undefined),
};

/** The user by which the operator itself is known to etcd, or is about to be, is changed by no EtcdUser: it would lock itself out. One that is no administrator may be deleted: it is not by that user that the operator gets in. */
const notTheOperator: UserGuard = {
  name: "not-the-operator",
  forbids(snapshot, step) {
    const { user, found } = snapshot;
    if ((!isInEtcd(step) && step.do !== "claimUser") || !isOperators(snapshot)) return undefined;
    const isAdministrator = found.is !== "present" || found.value.includes(ROOT);
    if (step.do === "deleteUser" && !isAdministrator) return undefined;
    return `user ${userNameOf(user)} is the operator's own, by the common name of its certificate; have a certificate with another one there`;
  },
};

/** Nothing is made for an object that would go without taking it back, or that is going. */
const heldFirst: UserGuard = {
  name: "held-first",
  forbids(snapshot, step) {
    if (isEnd(step)) return undefined;
    return notHeld(claimOf(snapshot), step.do === "holdUser" || isRepeated(snapshot, step));
  },
};

/** Only an EtcdUser that is being deleted loses its finalizer, and its user, but for one that cannot get a password. */
const deletionIsAsked: UserGuard = {
  name: "deletion-is-asked",
  forbids(snapshot, step) {
    const isToBeRemade = snapshot.password.is === "present" && snapshot.password.value === "none";
    if (!isEnd(step) || (step.do === "deleteUser" && isToBeRemade)) return undefined;
    return notDeleted(claimOf(snapshot));
  },
};

/** Nothing is changed in an etcd whose EtcdCluster is paused, asleep, not formed or going. */
const placeIsReady: UserGuard = {
  name: "place-is-ready",
  forbids(snapshot, step) {
    const isChange = isInEtcd(step) || step.do === "writeBinding" || step.do === "requestCertificate";
    return isChange ? notReady(claimOf(snapshot)) : undefined;
  },
};

/** A Secret or a Certificate of somebody else is never written, by cert-manager neither, nor is etcd given what it says. */
const ownObjects: UserGuard = {
  name: "own-objects",
  forbids(snapshot, step) {
    const { user, binding, request } = snapshot;
    if (step.do === "requestCertificate") {
      if (wouldOverwrite(snapshot)) return `Secret ${step.request.metadata.name} exists, and is somebody else's`;
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
  forbids({ takenAtMs, binding, doubters }, step) {
    if (step.do !== "writeBinding" || !isPairNew(step.wish.pair) || doubters.length === 0) return undefined;
    const certificate = binding.is === "present" ? binding.value.certificate : undefined;
    if (certificate === undefined || certificate.trouble !== undefined) return undefined;
    if (certificate.notAfterMs <= takenAtMs) return undefined;
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
