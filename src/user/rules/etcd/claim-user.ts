import { isClaimed } from "#access/claim.ts";
import { clusterIdOf } from "#access/place.ts";
import { step } from "#runtime/decide.ts";
import { claimOf } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/**
 * Records in the status that the user belongs to this object, before it is created or taken over: etcd does not know
 * owners.
 */
export const claimUser: UserRule = {
  name: "claim-user",
  decide(snapshot) {
    const claim = claimOf(snapshot);
    if (isClaimed(claim)) return undefined;
    const { name, found, cluster } = claim;
    const how = found.is === "present" ? "taken over" : "created";
    const clusterID = clusterIdOf(cluster);
    return step("claim-user", `user ${name} is about to be ${how}`, { do: "claimUser", name, clusterID });
  },
};
