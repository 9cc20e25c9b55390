import { MAX_BUNDLE_LENGTH } from "#api/bundle.ts";
import { isOwnSecretName } from "#api/names.ts";
import { areClientsVerified, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isOwnSecret, mayConnectWith } from "#certificates/consent.ts";
import { CLIENT_AUTH, SERVER_AUTH } from "#certificates/extended-key-usage.ts";
import { namesLacking, neededNames } from "#certificates/names.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { vouches } from "#certificates/trust.ts";
import { AUTHORITY_OF, isShownByMembers, orderOf, SHOWN_ON, sideOf } from "#cluster/certificates/purposes.ts";
import { isInUse, secretsInUse, trustInUse, withoutBelief, withoutTrust } from "#cluster/certificates/trusted.ts";
import type { ClusterSnapshot, Purpose, SeenCertificate } from "#cluster/snapshot.ts";

/** What its Secret says, whoever it belongs to and whether or not it is good. */
export function seen({ certificates }: ClusterSnapshot, purpose: Purpose): SeenCertificate | undefined {
  const found = certificates?.[purpose];
  return found?.is === "present" ? found.value : undefined;
}

/** Whether the operator is to fill the Secret, so that it has to be this very cluster's. */
export function isIssuedHere({ cluster }: ClusterSnapshot, purpose: Purpose): boolean {
  return providerOf(cluster.spec, sideOf(purpose)) === "Operator";
}

export function isOurs({ cluster }: ClusterSnapshot, { ownerUid }: SeenCertificate): boolean {
  return ownerUid === cluster.metadata.uid;
}

/** Whether cert-manager is to fill the Secret, and somebody else has. */
export function isForeign({ cluster }: ClusterSnapshot, purpose: Purpose, facts: SeenCertificate): boolean {
  return providerOf(cluster.spec, sideOf(purpose)) === "CertManager" && facts.certificateName !== facts.secretName;
}

/**
 * Whether cert-manager fills the Secret under a name of the operator's own: an earlier operator has asked for that, before Secrets of an issuer had
 * names of their own. Nobody has named it, and nobody but cert-manager writes it.
 */
export function isOfEarlier(
  { cluster }: ClusterSnapshot,
  { secretName, certificateName, ownerUid }: SeenCertificate,
): boolean {
  const isOwn = isOwnSecretName(cluster.metadata.name, secretName);
  return isOwn && certificateName === secretName && ownerUid !== cluster.metadata.uid;
}

/** Whether somebody else fills the Secret, and nobody says that it is for EtcdClusters; `kept` when members, or the operator, have it all the same. */
export function isWithheld(
  snapshot: ClusterSnapshot,
  purpose: Purpose,
  facts: SeenCertificate,
): false | "refused" | "kept" {
  const { cluster } = snapshot;
  const side = sideOf(purpose);
  if (providerOf(cluster.spec, side) !== "Secret") return false;
  if (facts.mayBeShown || isOfEarlier(snapshot, facts) || isOwnSecret(cluster, facts)) return false;
  const isKept =
    purpose === "operator" ? mayConnectWith(cluster, facts) : secretsInUse(snapshot, side).has(facts.secretName);
  return isKept ? "kept" : "refused";
}

/**
 * What the Secret says, if members can go by it: it is whole, it is for them, and whoever is to fill it has. Whether its time is over does not count here: with a
 * new one in it nobody has to restart.
 */
export function usable(snapshot: ClusterSnapshot, purpose: Purpose): SeenCertificate | undefined {
  const found = seen(snapshot, purpose);
  if (found === undefined || found.trouble !== undefined || isForeign(snapshot, purpose, found)) return undefined;
  if (isWithheld(snapshot, purpose, found) === "refused") return undefined;
  if (isShownByMembers(purpose) && whyTooLong(found.trust) !== undefined) return undefined;
  return isIssuedHere(snapshot, purpose) && !isOurs(snapshot, found) ? undefined : found;
}

/** Why members cannot be given such a bundle, as part of a sentence whose subject is what it is made of; undefined when they can. */
export function whyTooLong({ length }: string): string | undefined {
  if (length <= MAX_BUNDLE_LENGTH) return undefined;
  return `${length} characters in PEM, and members can be given no more than ${MAX_BUNDLE_LENGTH}: leave out authorities that have signed nothing of this cluster`;
}

/** Whether the clock says that its time has come, and is not over. */
export function isInTime(
  { takenAtMs }: Pick<ClusterSnapshot, "takenAtMs">,
  { notBeforeMs, notAfterMs }: SeenCertificate,
): boolean {
  return notBeforeMs <= takenAtMs && takenAtMs < notAfterMs;
}

/** The authority of a side, if the operator can sign with it, and it names who has signed what members show. */
export function authorityOf(snapshot: ClusterSnapshot, side: Side): SeenCertificate | undefined {
  const found = usable(snapshot, AUTHORITY_OF[side]);
  return found !== undefined && forgottenBy(snapshot, side, found) === undefined ? found : undefined;
}

/**
 * What members show, where its authority's Secret does not name by whom it is believed: somebody has put another authority there, alone. Whatever that
 * signs, and whoever is told to trust it alone, would be cut off from those who know the one before. `undefined` when all is well.
 * @param authority what is in the Secret
 */
export function forgottenBy(
  snapshot: ClusterSnapshot,
  side: Side,
  { fingerprint, trust, trustIds }: SeenCertificate,
): SeenCertificate | undefined {
  const shown = isInUse(snapshot, SHOWN_ON[side]) ? seen(snapshot, SHOWN_ON[side]) : undefined;
  if (shown === undefined || !isOurs(snapshot, shown)) return undefined;
  const { signerId } = shown;
  if (signerId !== undefined && trustIds.includes(signerId)) return undefined;
  const inUse = trustInUse(snapshot, side).join("");
  // Who has signed it nobody knows where its own ca.crt does not say so: it may be anybody whom members trust.
  const isLost =
    signerId === undefined
      ? parsedIn(inUse).some((each) => !vouches(trust, { signerId: idOf(each), trust: inUse }))
      : vouches(inUse, shown) && !vouches(trust, shown);
  if (!isLost) return undefined;
  // What some do not believe is made anew by whom all of them trust.
  const isBelieved = signerId !== undefined && withoutBelief(snapshot, side, shown).length === 0;
  return isBelieved || withoutTrust(snapshot, side, [fingerprint]).length > 0 ? shown : undefined;
}

/** What a certificate of this purpose lacks, whoever has made it, as a clause; times excepted. */
export function lackOf(
  { cluster }: Pick<ClusterSnapshot, "cluster">,
  purpose: Purpose,
  facts: SeenCertificate,
): string | undefined {
  if (facts.trouble !== undefined) return facts.trouble;
  const { namespace, name } = cluster.metadata;
  const stranger = whyStrangers(cluster, purpose, facts);
  if (stranger !== undefined) return stranger;
  const isShown = purpose === "peer" || purpose === "server";
  const needed = isShown ? neededNames(namespace, name, cluster.spec.replicas, purpose) : [];
  const lacking = namesLacking(facts.names, needed);
  if (lacking.length > 0) return `its tls.crt is not good for ${lacking.join(", ")}`;
  // An authority does not say what it may be used for. What clients are shown etcd shows as a client, too, where clients have to show something.
  const shown = purpose === "server" && !areClientsVerified(cluster.spec) ? [SERVER_AUTH] : [SERVER_AUTH, CLIENT_AUTH];
  const usages = isShown ? shown : [CLIENT_AUTH];
  const missing = usages.find((usage) => facts.usages.length > 0 && !facts.usages.includes(usage));
  if (missing === undefined) return undefined;
  return `its tls.crt is not good for ${missing === SERVER_AUTH ? "servers (serverAuth)" : "clients (clientAuth)"}, by its extended key usage`;
}

/**
 * What the operator makes for itself, or for applications, and has another name, as a clause: somebody has put there what was made for somebody
 * else. By the name etcd knows who connects, so each would have the other's rights. What others bring has whatever name they like.
 */
export function whyStrangers(
  cluster: Pick<EtcdCluster, "metadata" | "spec">,
  purpose: Purpose,
  { commonName }: Pick<SeenCertificate, "commonName">,
): string | undefined {
  if (purpose !== "operator" && purpose !== "application") return undefined;
  const wanted = orderOf(cluster, purpose).commonName;
  if (providerOf(cluster.spec, "client") !== "Operator" || commonName === wanted) return undefined;
  return `its tls.crt does not have the common name ${wanted}`;
}

/** Whether no member asks for what this certificate shows. */
export function isUnasked({ cluster }: ClusterSnapshot, purpose: Purpose): boolean {
  return (purpose === "operator" || purpose === "application") && !areClientsVerified(cluster.spec);
}
