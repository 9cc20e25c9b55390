import { userNameOf } from "#api/etcd-names.ts";
import { step } from "#runtime/decide.ts";
import { hasPassword, ownBinding } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/**
 * Creates the user in etcd, with the binding's password if it has one. A user that was deleted there is created again.
 */
export const addUser: UserRule = {
  name: "add-user",
  decide(snapshot) {
    if (snapshot.found.is !== "absent") return undefined;
    const name = userNameOf(snapshot.user);
    const because = `user ${name} is not in etcd`;
    if (!hasPassword(snapshot)) return step("add-user", because, { do: "addUser", name, from: undefined });
    const from = ownBinding(snapshot);
    return from?.hasPassword === true && from.passwordTrouble === undefined
      ? step("add-user", because, { do: "addUser", name, from })
      : undefined;
  },
};
