import { MAX_BUNDLE_LENGTH } from "#api/bundle.ts";
import { areClientsVerified, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isOwnSecret, mayConnectWith } from "#certificates/consent.ts";
import { CLIENT_AUTH, SERVER_AUTH } from "#certificates/extended-key-usage.ts";
import { namesLacking, neededNames } from "#certificates/names.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { vouches } from "#certificates/trust.ts";
import type { ClusterSnapshot, Purpose, SeenCertificate } from "#cluster/snapshot.ts";
import { isInUse, membersRejecting, membersWithoutCa, secretsInUse, trustInUse } from "#cluster-tls/check/trusted.ts";
import { AUTHORITY_OF, isShownByMembers, orderOf, SHOWN_ON, sideOf } from "./purposes.ts";

/** The content of its Secret, with any owner, valid or not. */
export function seen({ certificates }: ClusterSnapshot, purpose: Purpose): SeenCertificate | undefined {
  const found = certificates?.[purpose];
  return found?.is === "present" ? found.value : undefined;
}

/** Whether the operator fills the Secret, so that it has to belong to this cluster. */
export function isIssuedHere({ cluster }: ClusterSnapshot, purpose: Purpose): boolean {
  return providerOf(cluster.spec, sideOf(purpose)) === "Operator";
}

export function isOurs({ cluster }: ClusterSnapshot, { ownerUid }: SeenCertificate): boolean {
  return ownerUid === cluster.metadata.uid;
}

/** Whether cert-manager should fill the Secret and has not filled it. */
export function isForeign({ cluster }: ClusterSnapshot, purpose: Purpose, facts: SeenCertificate): boolean {
  return providerOf(cluster.spec, sideOf(purpose)) === "CertManager" && facts.certificateName !== facts.secretName;
}

/**
 * Whether a user-provided Secret lacks consent for EtcdClusters; `kept` when members, or the operator, use it already.
 */
export function isWithheld(
  snapshot: ClusterSnapshot,
  purpose: Purpose,
  facts: SeenCertificate,
): false | "refused" | "kept" {
  const { cluster } = snapshot;
  const side = sideOf(purpose);
  if (providerOf(cluster.spec, side) !== "Secret") return false;
  if (facts.mayBeShown || isOwnSecret(cluster, facts)) return false;
  const isKept =
    purpose === "operator" ? mayConnectWith(cluster, facts) : secretsInUse(snapshot, side).has(facts.secretName);
  return isKept ? "kept" : "refused";
}

/**
 * The content of the Secret, if members can use it: complete, permitted, and filled by the right issuer. It may be
 * expired: a new certificate in the Secret requires no restart.
 */
export function usable(snapshot: ClusterSnapshot, purpose: Purpose): SeenCertificate | undefined {
  const found = seen(snapshot, purpose);
  if (found === undefined || found.trouble !== undefined || isForeign(snapshot, purpose, found)) return undefined;
  if (isWithheld(snapshot, purpose, found) === "refused") return undefined;
  if (isShownByMembers(purpose) && whyTooLong(found.trust) !== undefined) return undefined;
  return isIssuedHere(snapshot, purpose) && !isOurs(snapshot, found) ? undefined : found;
}

/** Why this bundle is too long for members, as an object after "have". Undefined when it is not. */
export function whyTooLong({ length }: string): string | undefined {
  if (length <= MAX_BUNDLE_LENGTH) return undefined;
  return `${length} characters in PEM, and the limit is ${MAX_BUNDLE_LENGTH}: remove CAs that have signed no certificate of this cluster`;
}

/** Whether the certificate is valid now, by the clock. */
export function isInTime(
  { takenAtMs }: Pick<ClusterSnapshot, "takenAtMs">,
  { notBeforeMs, notAfterMs }: SeenCertificate,
): boolean {
  return notBeforeMs <= takenAtMs && takenAtMs < notAfterMs;
}

/** The CA of a side, if the operator can sign with it, and its bundle has the CA of the certificates in use. */
export function authorityOf(snapshot: ClusterSnapshot, side: Side): SeenCertificate | undefined {
  const found = usable(snapshot, AUTHORITY_OF[side]);
  return found !== undefined && untrustedSigner(snapshot, side, found) === undefined ? found : undefined;
}

/**
 * The certificate in use with a CA that is missing in the bundle of the CA's Secret. Certificates and bundles of the
 * new CA alone would cut off all users of the old one. `undefined` when all is well.
 * @param authority the CA in the Secret
 */
export function untrustedSigner(
  snapshot: ClusterSnapshot,
  side: Side,
  { fingerprint, trust, trustIds }: SeenCertificate,
): SeenCertificate | undefined {
  const shown = isInUse(snapshot, SHOWN_ON[side]) ? seen(snapshot, SHOWN_ON[side]) : undefined;
  if (shown === undefined || !isOurs(snapshot, shown)) return undefined;
  const { signerId } = shown;
  if (signerId !== undefined && trustIds.includes(signerId)) return undefined;
  const inUse = trustInUse(snapshot, side).join("");
  // The signer is unknown when the Secret's own ca.crt lacks it: it may be any CA that members trust.
  const isLost =
    signerId === undefined
      ? parsedIn(inUse).some((each) => !vouches(trust, { signerId: idOf(each), trust: inUse }))
      : vouches(inUse, shown) && !vouches(trust, shown);
  if (!isLost) return undefined;
  // A certificate that some members reject is reissued by a CA that all of them trust.
  const isAccepted = signerId !== undefined && membersRejecting(snapshot, side, shown).length === 0;
  return isAccepted || membersWithoutCa(snapshot, side, [fingerprint]).length > 0 ? shown : undefined;
}

/** What a certificate of this purpose lacks, with any issuer, as a clause. Times are not checked. */
export function contentProblem(
  { cluster }: Pick<ClusterSnapshot, "cluster">,
  purpose: Purpose,
  facts: SeenCertificate,
): string | undefined {
  if (facts.trouble !== undefined) return facts.trouble;
  const { namespace, name } = cluster.metadata;
  const wrongName = whyWrongName(cluster, purpose, facts);
  if (wrongName !== undefined) return wrongName;
  const isShown = purpose === "peer" || purpose === "server";
  const needed = isShown ? neededNames(namespace, name, cluster.spec.replicas, purpose) : [];
  const lacking = namesLacking(facts.names, needed);
  if (lacking.length > 0) return `its tls.crt is not valid for ${lacking.join(", ")}`;
  // A CA has no extended key usage. etcd also uses the server certificate as a client, where client certificates are
  // required.
  const shown = purpose === "server" && !areClientsVerified(cluster.spec) ? [SERVER_AUTH] : [SERVER_AUTH, CLIENT_AUTH];
  const usages = isShown ? shown : [CLIENT_AUTH];
  const missing = usages.find((usage) => facts.usages.length > 0 && !facts.usages.includes(usage));
  if (missing === undefined) return undefined;
  return `its tls.crt is not valid for ${missing === SERVER_AUTH ? "servers (serverAuth)" : "clients (clientAuth)"}, by its extended key usage`;
}

/**
 * Why a certificate that the operator issued for itself or for applications has the wrong common name, as a clause. The
 * Secret holds one for another user: etcd identifies users by that name, so rights would be swapped. User-provided
 * certificates may have any name.
 */
export function whyWrongName(
  cluster: Pick<EtcdCluster, "metadata" | "spec">,
  purpose: Purpose,
  { commonName }: Pick<SeenCertificate, "commonName">,
): string | undefined {
  if (purpose !== "operator" && purpose !== "application") return undefined;
  const wanted = orderOf(cluster, purpose).commonName;
  if (providerOf(cluster.spec, "client") !== "Operator" || commonName === wanted) return undefined;
  return `its tls.crt does not have the common name ${wanted}`;
}

/** Whether no member requires this client certificate. */
export function isUnverified({ cluster }: ClusterSnapshot, purpose: Purpose): boolean {
  return (purpose === "operator" || purpose === "application") && !areClientsVerified(cluster.spec);
}
