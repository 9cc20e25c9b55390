import { TRUST_FILE } from "#api/names.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { takenText } from "#cluster/owned.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { providerChanges } from "#cluster-tls/change/provider-change.ts";
import { mergeBundles } from "#cluster-tls/check/trusted.ts";
import { trustMap, trustMapDiffers } from "#cluster-tls/issue/desired/certificates.ts";
import { usable } from "#cluster-tls/read/usable.ts";
import { notice, step } from "#runtime/decide.ts";

/** Keeps the ConfigMap with the CAs of the servers, for clients that use no client certificate. */
export const trustMapRule: ClusterRule = {
  name: "trust-map",
  decide(snapshot) {
    const found = snapshot.certificates?.trustMap;
    const change = providerChanges(snapshot).client;
    const trust = change?.bundle ?? usable(snapshot, "server")?.trust;
    if (trust === undefined || found === undefined || found.is === "unknown") return undefined;
    // While members wait, the ConfigMap may list more CAs than are needed now; none is removed.
    const kept =
      change?.round === "Prepare" && found.is === "present" ? (found.value.data?.[TRUST_FILE] ?? "") : undefined;
    if (kept !== undefined && isAmong(trust, kept)) return undefined;
    const wanted = trustMap(snapshot, kept === undefined ? trust : mergeBundles(trust, kept));
    const because = `ConfigMap ${wanted.metadata.name} lists the CAs that clients have to trust`;
    if (found.is === "absent") return step(because, { do: "createTrustMap", map: wanted });
    const live = found.value;
    if (!isOwned(snapshot, live)) return notice(takenText(live));
    if (!trustMapDiffers(live, wanted)) return undefined;
    return step(because, { do: "replaceTrustMap", live, map: wanted });
  },
};

/** Whether every certificate of the first bundle is in the second. */
function isAmong(some: string, all: string): boolean {
  const known = new Set(parsedIn(all).map(idOf));
  return parsedIn(some).every((each) => known.has(idOf(each)));
}
