import type { ClusterIdentity } from "#api/v1beta1/cluster.ts";
import { adoptedIdentity, extendedIdentity, keptClaims } from "#cluster/identity/desired/identity.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { type Opinion, step } from "#runtime/decide.ts";

/**
 * A cluster that is created again under its name gets its previous identity, with the data on the kept claims. Claims
 * of the same cluster that appear later are adopted too, until the members have a quorum.
 */
export const adoptClaims: ClusterRule = {
  name: "adopt-claims",
  holds: true,
  decide(snapshot) {
    const recorded = identityOf(snapshot);
    if (recorded !== undefined) return adoptLater(snapshot, recorded);
    if (keptClaims(snapshot).length === 0) return undefined;
    const identity = adoptedIdentity(snapshot);
    if ("unclear" in identity) return undefined;
    const names = identity.initialMembers.filter(({ joined }) => joined).map(({ name }) => name);
    const fate = names.length > 0 ? `${names.join(", ")} come back with their data` : "none of them ever had a volume";
    return step(`claims of cluster ${identity.clusterID} were kept: ${fate}`, {
      do: "recordIdentity",
      identity,
    });
  },
};

function adoptLater(snapshot: ClusterSnapshot, { initialMembers }: ClusterIdentity): Opinion<ClusterStep> | undefined {
  const identity = extendedIdentity(snapshot);
  if (identity === undefined) return undefined;
  const names = identity.initialMembers.slice(initialMembers.length).map(({ name }) => name);
  const because = `claims of the same cluster have appeared: ${names.join(", ")} come back with their data`;
  return step(because, { do: "recordIdentity", identity });
}
