import { roleNameOf } from "#access/namesakes.ts";
import { isClaimed } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** That a role in etcd is this object's is recorded before it is made, or taken over: etcd itself does not know whose a role is. */
export const claimRole: RoleRule = {
  name: "claim-role",
  decide(snapshot) {
    if (isClaimed(snapshot)) return undefined;
    const name = roleNameOf(snapshot.role);
    const how = snapshot.found.is === "present" ? "taken over" : "made";
    return step("claim-role", `role ${name} is about to be ${how}`, { do: "claimRole", name });
  },
};
