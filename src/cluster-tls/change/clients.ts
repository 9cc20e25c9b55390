import { applicationCertificateName, TRUST_FILE, trustConfigMapName } from "#api/names.ts";
import { providerOf, type Side } from "#api/tls.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { vouches } from "#certificates/trust.ts";
import { type ClusterSnapshot, isOwned, type SeenCertificate } from "#cluster/snapshot.ts";
import { isOurs, seen } from "#cluster-tls/read/usable.ts";
import { whyBindingsLackCa, whyBindingsUsePreviousCa } from "./bindings.ts";

// For which clients does a change wait?
//   For those that read an object that the operator writes: Secret NAME-client, ConfigMap NAME-ca, and the bindings of
//   EtcdUsers (bindings.ts).
// For how long?
//   Before UseNew: until the object lists the new CA, and has done so for as long as an application takes to reread it
//   (--reread-within). Before DropOld: until it holds a certificate of the new CA for as long.

/**
 * Whether the certificate's Secret lists the CA and, on the client side, has done so for as long as applications take
 * to reread it. What members themselves trust and use is read from their pods.
 */
export function isCaPublished(
  snapshot: ClusterSnapshot,
  side: Side,
  leaf: SeenCertificate | undefined,
  authorityId: string,
): boolean {
  const isLong = side === "peer" || (leaf !== undefined && leaf.knownForMs >= snapshot.rereadWithinMs);
  return isLong && leaf?.trustIds.includes(authorityId) === true;
}

/** The clause ` for 150 s` at the end of a text on the client side; empty for members, which restart instead. */
export function forReread({ rereadWithinMs }: ClusterSnapshot, side: Side): string {
  return side === "peer" ? "" : ` for ${rereadWithinMs / 1_000} s`;
}

/**
 * What still has to publish the new CAs to clients, or has not done so for long enough. Objects that the operator does
 * not write are not waited for.
 * @param isEnding whether late clients are no longer waited for
 */
export function whyClientsLackCa(
  snapshot: ClusterSnapshot,
  { trustIds, knownForMs }: SeenCertificate,
  isEnding: boolean,
): string | undefined {
  const { certificates, cluster, rereadWithinMs, takenAtMs } = snapshot;
  const { trustMap: map, trustMapForMs: mapForMs } = certificates ?? {};
  const has = (text: string) => {
    const ids = new Set(parsedIn(text).map(idOf));
    return trustIds.every((id) => ids.has(id));
  };
  const name = trustConfigMapName(cluster.metadata.name);
  const isMapKnown = map?.is === "present" && has(map.value.data?.[TRUST_FILE] ?? "");
  if (map === undefined || map.is === "absent" || map.is === "unknown" || isOwned(snapshot, map.value)) {
    if (isMapKnown ? (mapForMs ?? 0) < rereadWithinMs : !isEnding)
      return `ConfigMap ${name} has to list the new CA in ca.crt for ${rereadWithinMs / 1_000} s`;
  }
  const late = whyBindingsLackCa(snapshot, trustIds, takenAtMs - knownForMs, isEnding);
  if (late !== undefined) return late;
  const given = publishedCertificate(snapshot);
  if (given === undefined) return undefined;
  const hasNewCa = trustIds.every((id) => given.trustIds.includes(id));
  if (hasNewCa ? given.knownForMs >= rereadWithinMs : isEnding) return undefined;
  return isOurs(snapshot, given)
    ? `Secret ${given.secretName} has to list the new CA in ca.crt for ${rereadWithinMs / 1_000} s`
    : undefined;
}

/** The certificate in the Secret of applications, if any. */
function publishedCertificate(snapshot: ClusterSnapshot): SeenCertificate | undefined {
  const { certificates, cluster } = snapshot;
  if (providerOf(cluster.spec, "client") === "Operator") return seen(snapshot, "application");
  return certificates?.clientSecret?.is === "present" ? certificates.clientSecret.value : undefined;
}

/**
 * The clients that may still use a certificate of the previous CA of a provider change, as a clause. `undefined` when
 * there are none.
 * @param shown the certificate that every member uses
 * @param bundle every CA that members trust
 */
export function whyClientsUsePreviousCa(
  snapshot: ClusterSnapshot,
  shown: SeenCertificate,
  bundle: string,
): string | undefined {
  const { cluster, rereadWithinMs } = snapshot;
  // A client with a CA that no member trusts is cut off already: it is not waited for.
  const isAccepted = (signerId: string) =>
    vouches(shown.trust, { signerId, trust: bundle }) || !vouches(bundle, { signerId, trust: bundle });
  const late = whyBindingsUsePreviousCa(snapshot, isAccepted, snapshot.takenAtMs - shown.signerForMs);
  if (late !== undefined) return late;
  const given = publishedCertificate(snapshot);
  if (given === undefined || !isOurs(snapshot, given)) return undefined;
  const name = applicationCertificateName(cluster.metadata.name);
  if (!vouches(shown.trust, given)) {
    const isUserProvided = providerOf(cluster.spec, "client") === "Secret";
    const next = isUserProvided
      ? "delete it once no application uses it: then its certificate is no longer accepted"
      : "applications are about to get a new certificate";
    return `the certificate in Secret ${name} is signed by the previous CA; ${next}`;
  }
  if (given.signerForMs >= rereadWithinMs) return undefined;
  return `Secret ${name} has to hold its new certificate for ${rereadWithinMs / 1_000} s`;
}
