import type { Side } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { CERTIFICATE_NAME_ANNOTATION, type CertificateFacts } from "#certificates/facts.ts";
import { parsedIn } from "#certificates/pem.ts";
import { isAuthority } from "#cluster/certificates/purposes.ts";
import type { Purpose } from "#cluster/snapshot.ts";

/** What a certificate of each purpose is for, as part of a sentence. */
export const WHAT_FOR: Readonly<Record<Purpose, string>> = {
  peerCA: "the authority by which members know each other",
  clientCA: "the authority by which members and clients know each other",
  peer: "what members show to each other",
  server: "what members show to clients",
  operator: "what the operator shows to members",
  application: "what applications show to members",
};

/** When it ends, to follow "ends at"; and whether that is the end of who has signed it, so that another one by the same authority would not help. */
export function endText(purpose: Purpose, { notAfterMs, trust }: CertificateFacts): string {
  const isSigners = parsedIn(trust).some(({ validToDate }) => validToDate.getTime() === notAfterMs);
  return rfc3339(notAfterMs) + (isSigners && !isAuthority(purpose) ? ", with the authority that has signed it" : "");
}

/** Who has the name, and what a person can do about it. */
export function foreignSecretText(namespace: string, name: string): string {
  return `Secret ${namespace}/${name} exists already and is not this cluster's: it is never written; unless members show it, delete it, and what fills it`;
}

/** What is there in place of what cert-manager is to fill, and what a person can do about it. */
export function notFilledText(namespace: string, name: string): string {
  return `Secret ${namespace}/${name} exists already, and cert-manager has not filled it for Certificate ${name} (annotation ${CERTIFICATE_NAME_ANNOTATION}): it is not written over; delete it, and what fills it`;
}

/** Where another authority was put into the Secret, alone, and what a person can do about it. @param shown what members show */
export function forgetfulText(namespace: string, name: string, side: Side, shown: string): string {
  return `Secret ${namespace}/${name} signs nothing: its ca.crt lacks the authority by which Secret ${shown} is believed; add that, which EtcdPeers have under spec.tls.${side}.trust, or put the former pair back, or delete it: then another authority is made, and members restart so that they trust both`;
}

/**
 * What is wrong with the Secret of an authority, and what a person can do about it. @param trouble a clause about it
 * @param lost the Secret of what members show, if that is not there: by it they would come to trust another authority
 */
export function brokenAuthorityText(
  namespace: string,
  name: string,
  trouble: string,
  lost: string | undefined,
): string {
  const instead =
    lost === undefined
      ? "or delete it: then another authority is made, and members restart so that they trust both"
      : `and do not delete it: members could not come to trust another authority while Secret ${lost} is not there`;
  return `Secret ${namespace}/${name} cannot sign: ${trouble}; put it right, ${instead}`;
}

/**
 * Where what members show is not there, and they do not trust who could make it anew; and what a person can do about it: whom they trust they learn
 * from that Secret alone, so neither another authority nor another ca.crt helps.
 * @param subject the Secret that is not there, as the subject of a sentence @param authority the Secret of who signs by now
 */
export function lostPairText(subject: string, authority: string, doubting: readonly string[]): string {
  const why = `${doubting.join(", ")} would not trust what Secret ${authority} signs`;
  return `${subject} is not there, and is not made: ${why}; put the Secret back, or put into Secret ${authority} the pair of the authority that they trust, with its ca.crt; where neither is left, restore a backup into another EtcdCluster`;
}
