import { isClaimed } from "#access/claim.ts";
import { clusterIdOf } from "#access/place.ts";
import { step } from "#runtime/decide.ts";
import { claimOf } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** That a user in etcd is this object's is recorded before it is made, or taken over: etcd itself does not know whose a user is. */
export const claimUser: UserRule = {
  name: "claim-user",
  decide(snapshot) {
    const claim = claimOf(snapshot);
    if (isClaimed(claim)) return undefined;
    const { name, found, cluster } = claim;
    const how = found.is === "present" ? "taken over" : "made";
    const clusterID = clusterIdOf(cluster);
    return step("claim-user", `user ${name} is about to be ${how}`, { do: "claimUser", name, clusterID });
  },
};
