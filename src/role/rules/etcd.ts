import { isClaimed } from "#access/claim.ts";
import { lackingIn, permissionText, surplusIn, wantedPermissions } from "#access/permissions.ts";
import { clusterIdOf } from "#access/place.ts";
import { awaitingEtcd, awaitingName } from "#access/waits.ts";
import { roleNameOf } from "#api/etcd-names.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** Waits while no member answers. */
export const awaitEtcd: RoleRule = {
  name: "await-etcd",
  decide: ({ access, found }) => awaitingEtcd(access, found),
};

/**
 * Waits while the name is taken: by a role in etcd that others have created, unless spec.takeOver is set, or by an
 * older object.
 */
export const nameTaken: RoleRule = {
  name: "name-taken",
  decide: (snapshot) => awaitingName(claimOf(snapshot)),
};

/**
 * Records in the status that the role belongs to this object, before it is created or taken over: etcd does not know
 * owners.
 */
export const claimRole: RoleRule = {
  name: "claim-role",
  decide(snapshot) {
    const claim = claimOf(snapshot);
    if (isClaimed(claim)) return undefined;
    const { name, found, cluster } = claim;
    const how = found.is === "present" ? "taken over" : "created";
    const clusterID = clusterIdOf(cluster);
    return step(`role ${name} is about to be ${how}`, { do: "claimRole", name, clusterID });
  },
};

/** Creates the role in etcd. A role that was deleted there is created again. */
export const addRole: RoleRule = {
  name: "add-role",
  decide({ role, found }) {
    const name = roleNameOf(role);
    return found.is === "absent" ? step(`role ${name} is not in etcd`, { do: "addRole", name }) : undefined;
  },
};

/** Grants each missing permission of the spec. A permission on the same range with another access is replaced. */
export const grantPermission: RoleRule = {
  name: "grant-permission",
  decide({ role, found }) {
    if (found.is !== "present") return undefined;
    const [permission] = lackingIn(found.value, wantedPermissions(role.spec.permissions));
    if (permission === undefined) return undefined;
    const name = roleNameOf(role);
    const because = `role ${name} lacks ${permissionText(permission)} in etcd`;
    return step(because, { do: "grantPermission", name, permission });
  },
};

/** Revokes each permission that the spec does not list. */
export const revokePermission: RoleRule = {
  name: "revoke-permission",
  decide({ role, found }) {
    if (found.is !== "present") return undefined;
    const [range] = surplusIn(found.value, wantedPermissions(role.spec.permissions));
    if (range === undefined) return undefined;
    const name = roleNameOf(role);
    const because = `role ${name} has ${permissionText(range)} in etcd, which the spec does not list`;
    return step(because, { do: "revokePermission", name, range });
  },
};
