import { roleNameOf } from "#api/etcd-names.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** Creates the role in etcd. A role that was deleted there is created again. */
export const addRole: RoleRule = {
  name: "add-role",
  decide({ role, found }) {
    const name = roleNameOf(role);
    return found.is === "absent" ? step("add-role", `role ${name} is not in etcd`, { do: "addRole", name }) : undefined;
  },
};
