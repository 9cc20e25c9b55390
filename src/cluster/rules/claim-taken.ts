import { CLAIM_CLUSTER_ID_ANNOTATION } from "#api/names.ts";
import type { ClusterRule } from "#cluster/plan.ts";
import { identityOf } from "#cluster/snapshot.ts";
import { wait } from "#runtime/decide.ts";

/** A cluster that has no identity yet and finds claims of its name must not start over them: they hold the data of an earlier one. */
export const claimTaken: ClusterRule = {
  name: "claim-taken",
  decide(snapshot) {
    if (identityOf(snapshot) !== undefined || snapshot.claims.length === 0) return undefined;
    const claims = snapshot.claims.map((claim) => {
      const clusterID = claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
      return `${claim.metadata.name} (${clusterID === undefined ? "of unknown origin" : `cluster ID ${clusterID}`})`;
    });
    const because = `claims of an earlier cluster are there and are not overwritten: ${claims.join(", ")}; delete them if their data is not needed, or choose another name`;
    return wait("claim-taken", because, 10_000, { warn: true });
  },
};
