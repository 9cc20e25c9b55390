import { isHeld } from "#access/claim.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** An EtcdRole gets a finalizer before anything is made in etcd: its role is deleted before it goes. */
export const holdRole: RoleRule = {
  name: "hold-role",
  decide(snapshot) {
    if (isHeld(claimOf(snapshot))) return undefined;
    return step("hold-role", "its role in etcd is to go with it", { do: "holdRole" });
  },
};
