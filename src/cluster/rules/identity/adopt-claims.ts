import { adoptedIdentity, keptClaims } from "#cluster/desired/identity.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** A cluster that is made again under its name comes back as who it was, with the data on the claims that were kept. */
export const adoptClaims: ClusterRule = {
  name: "adopt-claims",
  holds: true,
  decide(snapshot) {
    if (identityOf(snapshot) !== undefined || keptClaims(snapshot).length === 0) return undefined;
    const identity = adoptedIdentity(snapshot);
    if ("unclear" in identity) return undefined;
    const names = identity.initialMembers.filter(({ joined }) => joined).map(({ name }) => name);
    const fate = names.length > 0 ? `${names.join(", ")} come back with their data` : "none of them ever had a volume";
    return step("adopt-claims", `claims of cluster ${identity.clusterID} were kept: ${fate}`, {
      do: "recordIdentity",
      identity,
    });
  },
};
