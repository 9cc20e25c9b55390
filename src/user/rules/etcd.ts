import { isClaimed } from "#access/claim.ts";
import { clusterIdOf } from "#access/place.ts";
import { awaitingEtcd, awaitingName } from "#access/waits.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { step, wait } from "#runtime/decide.ts";
import { claimOf, hasPassword, ownBinding } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** Waits while no member answers. */
export const awaitEtcd: UserRule = {
  name: "await-etcd",
  decide: ({ access, found, password }) => awaitingEtcd(access, found, password),
};

/**
 * Waits while the name is taken: by a user in etcd that others have created, unless spec.takeOver is set, or by an
 * older object.
 */
export const nameTaken: UserRule = {
  name: "name-taken",
  decide: (snapshot) => awaitingName(claimOf(snapshot)),
};

/**
 * Records in the status that the user belongs to this object, before it is created or taken over: etcd does not know
 * owners.
 */
export const claimUser: UserRule = {
  name: "claim-user",
  decide(snapshot) {
    const claim = claimOf(snapshot);
    if (isClaimed(claim)) return undefined;
    const { name, found, cluster } = claim;
    const how = found.is === "present" ? "taken over" : "created";
    const clusterID = clusterIdOf(cluster);
    return step(`user ${name} is about to be ${how}`, { do: "claimUser", name, clusterID });
  },
};

/** Revokes each role that the spec does not list. */
export const revokeRole: UserRule = {
  name: "revoke-role",
  decide({ user, found }) {
    if (found.is !== "present") return undefined;
    const role = found.value.find((each) => !user.spec.roles.includes(each));
    if (role === undefined) return undefined;
    const name = userNameOf(user);
    const because = `user ${name} has role ${role} in etcd, which the spec does not list`;
    return step(because, { do: "revokeRole", name, role });
  },
};

/** Deletes a user that was created without a password, because etcd cannot add one. It is created again. */
export const recreateUser: UserRule = {
  name: "recreate-user",
  decide({ user, password }) {
    if (password.is !== "present" || password.value !== "none") return undefined;
    const name = userNameOf(user);
    const because = `user ${name} was created without a password and needs one: it is deleted and created again`;
    return step(because, { do: "deleteUser", name });
  },
};

/**
 * Creates the user in etcd, with the binding's password if it has one. A user that was deleted there is created again.
 */
export const addUser: UserRule = {
  name: "add-user",
  decide(snapshot) {
    if (snapshot.found.is !== "absent") return undefined;
    const name = userNameOf(snapshot.user);
    const because = `user ${name} is not in etcd`;
    if (!hasPassword(snapshot)) return step(because, { do: "addUser", name, from: undefined });
    const from = ownBinding(snapshot);
    return from?.hasPassword === true && from.passwordTrouble === undefined
      ? step(because, { do: "addUser", name, from })
      : undefined;
  },
};

/** Sets the binding's password in etcd when the two differ: the Secret is authoritative. */
export const setPassword: UserRule = {
  name: "set-password",
  decide(snapshot) {
    const { user, password } = snapshot;
    const from = ownBinding(snapshot);
    if (from === undefined || password.is !== "present" || password.value !== "differs") return undefined;
    const name = userNameOf(user);
    const because = `user ${name} gets the password of Secret ${from.name}; the previous one becomes invalid`;
    return step(because, { do: "setPassword", name, from });
  },
};

/** Grants each role of the spec that exists in etcd. */
export const grantRole: UserRule = {
  name: "grant-role",
  decide({ user, found, missingRoles }) {
    if (found.is !== "present") return undefined;
    const role = user.spec.roles.find((each) => !found.value.includes(each) && !missingRoles.includes(each));
    if (role === undefined) return undefined;
    const name = userNameOf(user);
    return step(`user ${name} lacks role ${role} in etcd`, { do: "grantRole", name, role });
  },
};

/** Recheck in milliseconds, for roles created directly in etcd: a ready EtcdRole triggers this controller. */
const AWAIT_ROLE_RECHECK_MS = 60_000;

/** Waits for roles that do not exist in etcd. The user has all others. */
export const awaitRole: UserRule = {
  name: "await-role",
  decide({ user, missingRoles }) {
    if (missingRoles.length === 0) return undefined;
    const because = `user ${userNameOf(user)} waits for roles of spec.roles that do not exist in etcd: ${missingRoles.join(", ")}`;
    return wait(because, AWAIT_ROLE_RECHECK_MS);
  },
};
