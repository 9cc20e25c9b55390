import { isOverdue, requestWords } from "#certificates/request.ts";
import { purposesOf } from "#cluster/certificates/purposes.ts";
import { seen } from "#cluster/certificates/usable.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";

/** Which certificates cert-manager is to make anew, and does not: a clause about each, with its own words. What is there goes on to be good. */
export function renewalTroubles(snapshot: ClusterSnapshot): readonly string[] {
  const { cluster, certificates, takenAtMs } = snapshot;
  return purposesOf(cluster).flatMap((purpose) => {
    const found = purpose === "peerCA" || purpose === "clientCA" ? undefined : certificates?.requests?.[purpose];
    if (found?.is !== "present" || !isOwned(snapshot, found.value) || !isOverdue(found.value, takenAtMs)) return [];
    const secret = seen(snapshot, purpose);
    return secret === undefined ? [] : [`Secret ${secret.secretName} is not renewed: ${requestWords(found.value)}`];
  });
}
