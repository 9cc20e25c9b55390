import { lackingIn, permissionText, wantedPermissions } from "#access/permissions.ts";
import { roleNameOf } from "#api/etcd-names.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** Grants each missing permission of the spec. A permission on the same range with another access is replaced. */
export const grantPermission: RoleRule = {
  name: "grant-permission",
  decide({ role, found }) {
    if (found.is !== "present") return undefined;
    const [permission] = lackingIn(found.value, wantedPermissions(role.spec.permissions));
    if (permission === undefined) return undefined;
    const name = roleNameOf(role);
    const because = `role ${name} lacks ${permissionText(permission)} in etcd`;
    return step("grant-permission", because, { do: "grantPermission", name, permission });
  },
};
