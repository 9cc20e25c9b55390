import { userNameOf } from "#access/namesakes.ts";
import { step } from "#runtime/decide.ts";
import { isClaimed } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** That a user in etcd is this object's is recorded before it is made, or taken over: etcd itself does not know whose a user is. */
export const claimUser: UserRule = {
  name: "claim-user",
  decide(snapshot) {
    if (isClaimed(snapshot)) return undefined;
    const name = userNameOf(snapshot.user);
    const how = snapshot.found.is === "present" ? "taken over" : "made";
    return step("claim-user", `user ${name} is about to be ${how}`, { do: "claimUser", name });
  },
};
