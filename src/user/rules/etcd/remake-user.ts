import { userNameOf } from "#api/etcd-names.ts";
import { step } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** A user that somebody has made without a password cannot get one: it is deleted, and made anew. */
export const remakeUser: UserRule = {
  name: "remake-user",
  decide({ user, password }) {
    if (password.is !== "present" || password.value !== "none") return undefined;
    const name = userNameOf(user);
    const because = `user ${name} was made without a password, and is to have one: it is made anew`;
    return step("remake-user", because, { do: "deleteUser", name });
  },
};
