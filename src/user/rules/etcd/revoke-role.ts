import { userNameOf } from "#api/etcd-names.ts";
import { step } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** Revokes each role that the spec does not list. */
export const revokeRole: UserRule = {
  name: "revoke-role",
  decide({ user, found }) {
    if (found.is !== "present") return undefined;
    const role = found.value.find((each) => !user.spec.roles.includes(each));
    if (role === undefined) return undefined;
    const name = userNameOf(user);
    const because = `user ${name} has role ${role} in etcd, which the spec does not list`;
    return step("revoke-role", because, { do: "revokeRole", name, role });
  },
};
