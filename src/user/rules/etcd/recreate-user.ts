import { userNameOf } from "#api/etcd-names.ts";
import { step } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** Deletes a user that was created without a password, because etcd cannot add one. It is created again. */
export const recreateUser: UserRule = {
  name: "recreate-user",
  decide({ user, password }) {
    if (password.is !== "present" || password.value !== "none") return undefined;
    const name = userNameOf(user);
    const because = `user ${name} was created without a password and needs one: it is deleted and created again`;
    return step("recreate-user", because, { do: "deleteUser", name });
  },
};
