import { permissionText, surplusIn, wantedPermissions } from "#access/permissions.ts";
import { roleNameOf } from "#api/etcd-names.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** Revokes each permission that the spec does not list. */
export const revokePermission: RoleRule = {
  name: "revoke-permission",
  decide({ role, found }) {
    if (found.is !== "present") return undefined;
    const [range] = surplusIn(found.value, wantedPermissions(role.spec.permissions));
    if (range === undefined) return undefined;
    const name = roleNameOf(role);
    const because = `role ${name} has ${permissionText(range)} in etcd, which the spec does not list`;
    return step("revoke-permission", because, { do: "revokePermission", name, range });
  },
};
