import { userNameOf } from "#api/etcd-names.ts";
import { step } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** Grants each role of the spec that exists in etcd. */
export const grantRole: UserRule = {
  name: "grant-role",
  decide({ user, found, missingRoles }) {
    if (found.is !== "present") return undefined;
    const role = user.spec.roles.find((each) => !found.value.includes(each) && !missingRoles.includes(each));
    if (role === undefined) return undefined;
    const name = userNameOf(user);
    return step("grant-role", `user ${name} lacks role ${role} in etcd`, { do: "grantRole", name, role });
  },
};
