import { isHeld } from "#access/claim.ts";
import { step } from "#runtime/decide.ts";
import { claimOf } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** Adds a finalizer before anything is created in etcd, so that the user is deleted there first. */
export const holdUser: UserRule = {
  name: "hold-user",
  decide(snapshot) {
    if (isHeld(claimOf(snapshot))) return undefined;
    return step("hold-user", "its user in etcd is deleted before it", { do: "holdUser" });
  },
};
