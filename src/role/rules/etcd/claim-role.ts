import { isClaimed } from "#access/claim.ts";
import { clusterIdOf } from "#access/place.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** That a role in etcd is this object's is recorded before it is made, or taken over: etcd itself does not know whose a role is. */
export const claimRole: RoleRule = {
  name: "claim-role",
  decide(snapshot) {
    const claim = claimOf(snapshot);
    if (isClaimed(claim)) return undefined;
    const { name, found, cluster } = claim;
    const how = found.is === "present" ? "taken over" : "made";
    const clusterID = clusterIdOf(cluster);
    return step("claim-role", `role ${name} is about to be ${how}`, { do: "claimRole", name, clusterID });
  },
};
