import { isHeld } from "#access/claim.ts";
import { step } from "#runtime/decide.ts";
import { claimOf } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** An EtcdUser gets a finalizer before anything is made in etcd: its user is deleted before it goes. */
export const holdUser: UserRule = {
  name: "hold-user",
  decide(snapshot) {
    if (isHeld(claimOf(snapshot))) return undefined;
    return step("hold-user", "its user in etcd is to go with it", { do: "holdUser" });
  },
};
