import { roleNameOf } from "#api/etcd-names.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** The role is made in etcd; so is one that somebody has deleted there. */
export const addRole: RoleRule = {
  name: "add-role",
  decide({ role, found }) {
    const name = roleNameOf(role);
    return found.is === "absent" ? step("add-role", `role ${name} is not in etcd`, { do: "addRole", name }) : undefined;
  },
};
