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

/** What is wrong with the Secret of an authority, and what a person can do about it. @param trouble a clause about it */
export function brokenAuthorityText(namespace: string, name: string, trouble: string): string {
  return `Secret ${namespace}/${name} cannot sign: ${trouble}; put it right, or delete it: then another authority is made, and members restart so that they trust both`;
}
