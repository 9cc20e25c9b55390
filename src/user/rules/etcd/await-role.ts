import { userNameOf } from "#api/etcd-names.ts";
import { wait } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** An EtcdRole that is ready wakes this room; this is for roles that people make, in milliseconds. */
const RECHECK_MS = 60_000;

/** A role that is not in etcd cannot be given; the user has the others, and gets it when it is there. */
export const awaitRole: UserRule = {
  name: "await-role",
  decide({ user, missingRoles }) {
    if (missingRoles.length === 0) return undefined;
    const because = `user ${userNameOf(user)} waits for ${missingRoles.join(", ")}, of spec.roles, which is not in etcd`;
    return wait("await-role", because, RECHECK_MS);
  },
};
