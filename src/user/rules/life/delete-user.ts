import { isDeleting } from "#access/claim.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { step } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** Deletes the user in etcd when its EtcdUser is being deleted. Its password and certificates become invalid. */
export const deleteUser: UserRule = {
  name: "delete-user",
  decide(snapshot) {
    if (!isDeleting({ object: snapshot.user })) return undefined;
    const name = userNameOf(snapshot.user);
    return step("delete-user", `user ${name} is deleted in etcd with its EtcdUser`, { do: "deleteUser", name });
  },
};
