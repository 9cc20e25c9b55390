import { notDeleted, notHeld, notOwn, notReady, unaskedClaim } from "#access/claim.ts";
import { onlyRenews } from "#access/place.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { ROOT } from "#api/names.ts";
import { controllerOf } from "#kube/kinds.ts";
import { type BindingWish, mayBeRenewed } from "#user/desired/binding.ts";
import { claimOf, isOperatorsOwn, isOwned, ownBinding, type UserSnapshot, wouldOverwrite } from "#user/snapshot.ts";
import type { UserGuard, UserStep } from "#user/step.ts";

/**
 * What each kind of step writes, and whether it undoes what was created. A new kind without an entry does not compile.
 */
const TRAITS = {
  holdUser: { writes: "self", isEnd: false },
  releaseUser: { writes: "self", isEnd: true },
  claimUser: { writes: "claim", isEnd: false },
  requestCertificate: { writes: "binding", isEnd: false },
  writeBinding: { writes: "binding", isEnd: false },
  addUser: { writes: "etcd", isEnd: false },
  setPassword: { writes: "etcd", isEnd: false },
  grantRole: { writes: "etcd", isEnd: false },
  revokeRole: { writes: "etcd", isEnd: false },
  deleteUser: { writes: "etcd", isEnd: true },
} as const satisfies Record<UserStep["do"], { writes: string; isEnd: boolean }>;

/** Whether the step changes something in etcd. */
function isInEtcd(step: UserStep): boolean {
  return TRAITS[step.do].writes === "etcd";
}

/** Whether the step rewrites an existing binding with unchanged credentials. */
function keepsCredentials(snapshot: UserSnapshot, step: UserStep): boolean {
  const own = ownBinding(snapshot);
  if (step.do !== "writeBinding" || own === undefined) return false;
  const { password, pair } = step.wish;
  return password === (own.hasPassword ? "keep" : "none") && pair === (own.certificate ? "keep" : "none");
}

function isNewCertificate(pair: BindingWish["pair"]): boolean {
  return pair === "issue" || pair === "copy";
}

/** Changes or deletes a user in etcd only if this object's status claims it and no older object has the name. */
const ownOnly: UserGuard = {
  name: "own-only",
  forbids: (snapshot, step) => (isInEtcd(step) ? notOwn(claimOf(snapshot)) : undefined),
};

/** Claims an existing user only with spec.takeOver, and only if no older object has the name. */
const claimIsAsked: UserGuard = {
  name: "claim-is-asked",
  forbids: (snapshot, step) => (step.do === "claimUser" ? unaskedClaim(claimOf(snapshot)) : undefined),
};

/**
 * Changes no user that the operator itself logs in as, now or soon: the operator would lock itself out. One without the
 * root role may be deleted, because the operator does not depend on it.
 */
const notTheOperator: UserGuard = {
  name: "not-the-operator",
  forbids(snapshot, step) {
    const { user, found } = snapshot;
    const { writes } = TRAITS[step.do];
    if ((writes !== "etcd" && writes !== "claim") || !isOperatorsOwn(snapshot)) return undefined;
    const isAdministrator = found.is !== "present" || found.value.includes(ROOT);
    if (step.do === "deleteUser" && !isAdministrator) return undefined;
    return `user ${userNameOf(user)} is the operator's own, by the common name of its certificate; give the operator a certificate with another common name`;
  },
};

/**
 * Creates nothing for an object without the finalizer, which would be deleted without cleanup, or for one that is being
 * deleted.
 */
const heldFirst: UserGuard = {
  name: "held-first",
  forbids(snapshot, step) {
    if (TRAITS[step.do].isEnd) return undefined;
    return notHeld(claimOf(snapshot), step.do === "holdUser" || keepsCredentials(snapshot, step));
  },
};

/**
 * Deletes a user, or removes the finalizer, only when the EtcdUser is being deleted. A user that cannot get a password
 * may be deleted to be recreated.
 */
const deletionIsAsked: UserGuard = {
  name: "deletion-is-asked",
  forbids(snapshot, step) {
    const isToBeRemade = snapshot.password.is === "present" && snapshot.password.value === "none";
    if (!TRAITS[step.do].isEnd || (step.do === "deleteUser" && isToBeRemade)) return undefined;
    return notDeleted(claimOf(snapshot));
  },
};

/** Whether the step only renews the certificate of an existing binding while its cluster is paused or asleep. */
function isRenewal(snapshot: UserSnapshot, step: UserStep): boolean {
  const own = ownBinding(snapshot);
  if (step.do !== "writeBinding" || own === undefined || !onlyRenews(snapshot.cluster)) return false;
  const { password, pair } = step.wish;
  return isNewCertificate(pair) && password === (own.hasPassword ? "keep" : "none") && mayBeRenewed(snapshot, own);
}

/**
 * Changes nothing while the EtcdCluster is paused, asleep, not formed or being deleted, except that certificates are
 * renewed during a pause or sleep.
 */
const placeIsReady: UserGuard = {
  name: "place-is-ready",
  forbids(snapshot, step) {
    if (isRenewal(snapshot, step)) return undefined;
    const { writes } = TRAITS[step.do];
    return writes === "etcd" || writes === "binding" ? notReady(claimOf(snapshot)) : undefined;
  },
};

/**
 * Neither writes a Secret or Certificate with another owner, nor lets cert-manager overwrite one, nor gives etcd a
 * password from one.
 */
const ownObjects: UserGuard = {
  name: "own-objects",
  forbids(snapshot, step) {
    const { user, binding, request } = snapshot;
    if (step.do === "requestCertificate") {
      if (wouldOverwrite(snapshot))
        return `Secret ${step.request.metadata.name} exists already, and was not issued for this EtcdUser`;
      if (request.is !== "present" || controllerOf(request.value)?.uid === user.metadata.uid) return undefined;
      return `Certificate ${request.value.metadata.name} exists, and this EtcdUser has not created it`;
    }
    if (step.do !== "writeBinding" && step.do !== "setPassword" && step.do !== "addUser") return undefined;
    if (binding.is !== "present" || isOwned(snapshot, binding.value)) return undefined;
    const isUsed = step.do === "writeBinding" || step.from !== undefined;
    return isUsed ? `Secret ${binding.value.name} exists, and this EtcdUser has not created it` : undefined;
  },
};

/** Keeps a valid certificate as long as some member would not trust the new one. */
const trustedFirst: UserGuard = {
  name: "trusted-first",
  forbids({ takenAtMs, binding, doubters }, step) {
    if (step.do !== "writeBinding" || !isNewCertificate(step.wish.pair) || doubters.length === 0) return undefined;
    const certificate = binding.is === "present" ? binding.value.certificate : undefined;
    if (certificate === undefined || certificate.trouble !== undefined) return undefined;
    if (certificate.notAfterMs <= takenAtMs) return undefined;
    return `${doubters.join(", ")} would not trust the new certificate`;
  },
};

/** The invariants of a user. Each guard may reject a step of any rule. */
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
