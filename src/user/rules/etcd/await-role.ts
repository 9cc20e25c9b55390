import { userNameOf } from "#api/etcd-names.ts";
import { wait } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** Recheck in milliseconds, for roles created directly in etcd: a ready EtcdRole triggers this controller. */
const RECHECK_MS = 60_000;

/** Waits for roles that do not exist in etcd. The user has all others. */
export const awaitRole: UserRule = {
  name: "await-role",
  decide({ user, missingRoles }) {
    if (missingRoles.length === 0) return undefined;
    const because = `user ${userNameOf(user)} waits for roles of spec.roles that do not exist in etcd: ${missingRoles.join(", ")}`;
    return wait("await-role", because, RECHECK_MS);
  },
};
