import { isOverdue, requestWords } from "#certificates/request.ts";
import { leavesOf, SIDES } from "#cluster/certificates/purposes.ts";
import { seen } from "#cluster/certificates/usable.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";

/** Which certificates cert-manager is to make anew, and does not: a clause about each, with its own words. What is there goes on to be good. */
export function renewalTroubles(snapshot: ClusterSnapshot): readonly string[] {
  const { cluster, certificates, takenAtMs } = snapshot;
  return SIDES.flatMap((side) => leavesOf(cluster, side)).flatMap((purpose) => {
    const [found, secret] = [certificates?.requests?.[purpose], seen(snapshot, purpose)];
    if (found?.is !== "present" || secret === undefined || !isOwned(snapshot, found.value)) return [];
    if (!isOverdue(found.value, takenAtMs)) return [];
    return [`Secret ${secret.secretName} is not renewed: ${requestWords(found.value)}`];
  });
}
