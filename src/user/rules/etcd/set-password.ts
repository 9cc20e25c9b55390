import { userNameOf } from "#api/etcd-names.ts";
import { step } from "#runtime/decide.ts";
import { ownBinding } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** Sets the binding's password in etcd when the two differ: the Secret is authoritative. */
export const setPassword: UserRule = {
  name: "set-password",
  decide(snapshot) {
    const { user, password } = snapshot;
    const from = ownBinding(snapshot);
    if (from === undefined || password.is !== "present" || password.value !== "differs") return undefined;
    const name = userNameOf(user);
    const because = `user ${name} gets the password of Secret ${from.name}; the previous one becomes invalid`;
    return step("set-password", because, { do: "setPassword", name, from });
  },
};
