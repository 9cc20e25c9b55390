import { isClaimed } from "#access/claim.ts";
import { clusterIdOf } from "#access/place.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Records in the status that the role belongs to this object, before it is created or taken over: etcd does not know
 * owners.
 */
export const claimRole: RoleRule = {
  name: "claim-role",
  decide(snapshot) {
    const claim = claimOf(snapshot);
    if (isClaimed(claim)) return undefined;
    const { name, found, cluster } = claim;
    const how = found.is === "present" ? "taken over" : "created";
    const clusterID = clusterIdOf(cluster);
    return step("claim-role", `role ${name} is about to be ${how}`, { do: "claimRole", name, clusterID });
  },
};
