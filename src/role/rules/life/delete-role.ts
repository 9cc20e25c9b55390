import { isDeleting } from "#access/claim.ts";
import { roleNameOf } from "#api/etcd-names.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** Deletes the role in etcd when its EtcdRole is being deleted. Its users lose it. */
export const deleteRole: RoleRule = {
  name: "delete-role",
  decide(snapshot) {
    if (!isDeleting({ object: snapshot.role })) return undefined;
    const name = roleNameOf(snapshot.role);
    return step("delete-role", `role ${name} is deleted in etcd with its EtcdRole`, { do: "deleteRole", name });
  },
};
