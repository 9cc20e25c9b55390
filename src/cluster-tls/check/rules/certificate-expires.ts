import type { ClusterRule } from "#cluster/step.ts";
import { lateText } from "#cluster-tls/check/late.ts";
import { renewalTroubles } from "#cluster-tls/issue/renewal.ts";
import { notice } from "#runtime/decide.ts";

/**
 * Reports a certificate or CA that is about to expire although it should have been renewed long ago, or that
 * cert-manager fails to renew. Certificates in use count as well as requested ones. All other work continues.
 */
export const certificateExpires: ClusterRule = {
  name: "certificate-expires",
  decide(snapshot) {
    const texts = [lateText(snapshot) ?? [], renewalTroubles(snapshot)].flat();
    return texts.length === 0 ? undefined : notice(texts.join("; "));
  },
};
