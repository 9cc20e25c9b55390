import { adoptedIdentity, keptClaims } from "#cluster/desired/identity.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Claims that do not tell clearly whose data they hold are neither started over nor guessed about. */
export const claimTaken: ClusterRule = {
  name: "claim-taken",
  decide(snapshot) {
    const claims = keptClaims(snapshot);
    if (identityOf(snapshot) !== undefined || claims.length === 0) return undefined;
    const identity = adoptedIdentity(snapshot);
    if (!("unclear" in identity)) return undefined;
    const names = claims.map(({ metadata }) => metadata.name).join(", ");
    const because = `claims of an earlier cluster are there (${names}) and are not overwritten: ${identity.unclear}; delete those whose data is not needed, or choose another name`;
    return wait("claim-taken", because, 5_000, { warn: true });
  },
};
