import { roleNameOf } from "#access/namesakes.ts";
import { isClaimed } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { wait } from "#runtime/decide.ts";

/** In milliseconds: the other object's end wakes nobody. */
const RECHECK_MS = 60_000;

/** What somebody else has made in etcd is left alone, unless spec.takeOver says otherwise; of two objects of one name the older one has it. */
export const nameTaken: RoleRule = {
  name: "name-taken",
  decide(snapshot) {
    const { role, elder, found } = snapshot;
    const name = roleNameOf(role);
    if (elder !== undefined)
      return wait("name-taken", `role ${name} is EtcdRole ${elder}'s, which is older`, RECHECK_MS, { warn: true });
    if (found.is !== "present" || isClaimed(snapshot) || role.spec.takeOver) return undefined;
    const because = `role ${name} is in etcd already, and this EtcdRole has not made it; with spec.takeOver: true it becomes this one's`;
    return wait("name-taken", because, RECHECK_MS, { warn: true });
  },
};
