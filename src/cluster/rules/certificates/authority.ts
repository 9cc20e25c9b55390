import { AUTHORITY_OF, SHOWN_ON, SIDES, secretNameOf } from "#cluster/certificates/purposes.ts";
import { isInUse, trustInUse, united } from "#cluster/certificates/trusted.ts";
import { isOurs, seen } from "#cluster/certificates/usable.ts";
import { brokenAuthorityText, foreignSecretText, WHAT_FOR } from "#cluster/certificates/words.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/**
 * With the provider Operator each side has an authority of the cluster's own. One that is lost is followed by another one, beside which the one
 * before stays trusted; one that somebody has broken is left to people, who may have its key.
 */
export const authority: ClusterRule = {
  name: "authority",
  decide(snapshot) {
    const { cluster, certificates } = snapshot;
    // Of a side whose certificates come from somewhere else nobody looks for an authority.
    const missing = SIDES.find((side) => certificates?.[AUTHORITY_OF[side]]?.is === "absent");
    if (missing !== undefined) {
      const purpose = AUTHORITY_OF[missing];
      // Whom members trust by what comes from somewhere else is no part of it: members trust both until nobody shows that any more.
      const isLost = isInUse(snapshot, SHOWN_ON[missing]);
      const trust = isLost ? united(...trustInUse(snapshot, missing)) : "";
      const because = `Secret ${secretNameOf(cluster, purpose)} gets ${WHAT_FOR[purpose]}`;
      return step("authority", because, { do: "issueAuthority", side: missing, trust });
    }
    for (const side of SIDES) {
      const found = seen(snapshot, AUTHORITY_OF[side]);
      if (found === undefined) continue;
      const { namespace } = cluster.metadata;
      const { secretName, trouble } = found;
      if (!isOurs(snapshot, found)) return remark("authority", foreignSecretText(namespace, secretName));
      if (trouble !== undefined) return remark("authority", brokenAuthorityText(namespace, secretName, trouble));
    }
    return undefined;
  },
};
