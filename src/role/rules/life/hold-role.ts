import { isHeld } from "#access/claim.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** Adds a finalizer before anything is created in etcd, so that the role is deleted there first. */
export const holdRole: RoleRule = {
  name: "hold-role",
  decide(snapshot) {
    if (isHeld(claimOf(snapshot))) return undefined;
    return step("hold-role", "its role in etcd is deleted before it", { do: "holdRole" });
  },
};
