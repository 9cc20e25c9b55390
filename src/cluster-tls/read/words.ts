import type { Side } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { CERTIFICATE_NAME_ANNOTATION, type CertificateFacts } from "#certificates/facts.ts";
import { parsedIn } from "#certificates/pem.ts";
import type { Purpose } from "#cluster/snapshot.ts";
import { isAuthority } from "./purposes.ts";

/** What a certificate of each purpose is, as part of a sentence. */
export const WHAT_FOR: Readonly<Record<Purpose, string>> = {
  peerCA: "the CA of peer certificates",
  clientCA: "the CA of server and client certificates",
  peer: "the peer certificate of members",
  server: "the server certificate of members",
  operator: "the client certificate of the operator",
  application: "the client certificate of applications",
};

/**
 * When the certificate expires, to follow "expires at". Adds when its CA expires at the same moment, so that a new
 * certificate of that CA would not help.
 */
export function endText(purpose: Purpose, { notAfterMs, trust }: CertificateFacts): string {
  const isSigners = parsedIn(trust).some(({ validToDate }) => validToDate.getTime() === notAfterMs);
  return rfc3339(notAfterMs) + (isSigners && !isAuthority(purpose) ? ", together with its CA" : "");
}

/** The Secret belongs to another owner, and what a user can do about it. */
export function foreignSecretText(namespace: string, name: string): string {
  return `Secret ${namespace}/${name} exists already and does not belong to this cluster: it is not overwritten; unless members use it, delete it and whatever creates it`;
}

/** The Secret was not filled by cert-manager, and what a user can do about it. */
export function notFilledText(namespace: string, name: string): string {
  return `Secret ${namespace}/${name} exists already, and cert-manager has not filled it for Certificate ${name} (annotation ${CERTIFICATE_NAME_ANNOTATION}): it is not overwritten; delete it and whatever creates it`;
}

/**
 * Someone replaced the CA in the Secret without keeping the old one, and what a user can do about it.
 * @param shown the Secret that members use
 */
export function untrustedSignerText(namespace: string, name: string, side: Side, shown: string): string {
  return `Secret ${namespace}/${name} cannot be used to sign: its ca.crt lacks the CA that signed Secret ${shown}; add that CA (from spec.tls.${side}.trust of an EtcdPeer). Or restore the previous CA. Or delete the Secret: then a new CA is created, and members restart to trust both`;
}

/**
 * The problem of a CA's Secret, and what a user can do about it.
 * @param trouble a clause about it
 * @param lost the missing Secret of members, if it is missing: through it they would learn of a new CA
 */
export function brokenAuthorityText(
  namespace: string,
  name: string,
  trouble: string,
  lost: string | undefined,
): string {
  const instead =
    lost === undefined
      ? "or delete it: then a new CA is created, and members restart to trust both"
      : `and do not delete it: members could not learn of a new CA while Secret ${lost} is missing`;
  return `Secret ${namespace}/${name} cannot sign: ${trouble}; fix it, ${instead}`;
}

/**
 * The Secret of members is missing and they do not trust the CA that could reissue it, and what a user can do about it.
 * Members learn of CAs from that Secret alone, so neither another CA nor another ca.crt helps.
 * @param subject the missing Secret, as the subject of a sentence
 * @param authority the Secret of the CA that signs now
 */
export function lostPairText(subject: string, authority: string, rejecting: readonly string[]): string {
  const why = `${rejecting.join(", ")} would not trust the CA in Secret ${authority}`;
  return `${subject} is missing and is not created: ${why}; restore the Secret. Or put into Secret ${authority} the tls.crt, tls.key and ca.crt of the CA that they trust. If both are lost, restore a backup into another EtcdCluster`;
}

export const NOT_SERVED =
  "the provider is CertManager, and the API server knows no Certificates (certificates.cert-manager.io, v1): install cert-manager; the operator checks for it every five minutes";

/** The members that do not trust the new CA of a change yet. */
export function notTrustingText(members: readonly string[]): string {
  return `${members.join(", ")} ${members.length === 1 ? "does" : "do"} not trust the new CA yet`;
}
