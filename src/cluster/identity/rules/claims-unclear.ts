import { adoptedIdentity, keptClaims } from "#cluster/identity/desired/identity.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Claims that do not clearly identify their cluster are neither overwritten nor adopted. */
export const claimsUnclear: ClusterRule = {
  name: "claims-unclear",
  decide(snapshot) {
    const claims = keptClaims(snapshot);
    if (identityOf(snapshot) !== undefined || claims.length === 0) return undefined;
    const identity = adoptedIdentity(snapshot);
    if (!("unclear" in identity)) return undefined;
    const names = claims.map(({ metadata }) => metadata.name).join(", ");
    const because = `claims of an earlier cluster exist (${names}) and are not overwritten: ${identity.unclear}. Delete those with data that is not needed, or choose another name`;
    return wait(because, 5_000, { warn: true });
  },
};
