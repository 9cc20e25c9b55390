import { isOverdue, requestWords } from "#certificates/request.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import { leavesOf, SIDES } from "#cluster-tls/read/purposes.ts";
import { seen } from "#cluster-tls/read/usable.ts";

/**
 * Certificates that cert-manager should have renewed and has not: a clause about each, with its own message. The
 * existing certificate is still valid.
 */
export function renewalTroubles(snapshot: ClusterSnapshot): readonly string[] {
  const { cluster, certificates, takenAtMs } = snapshot;
  return SIDES.flatMap((side) => leavesOf(cluster, side)).flatMap((purpose) => {
    const [found, secret] = [certificates?.requests?.[purpose], seen(snapshot, purpose)];
    if (found?.is !== "present" || secret === undefined || !isOwned(snapshot, found.value)) return [];
    if (!isOverdue(found.value, takenAtMs)) return [];
    return [`Secret ${secret.secretName} is not renewed: ${requestWords(found.value)}`];
  });
}
