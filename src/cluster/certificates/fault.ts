import type { Reason } from "#api/conditions.ts";
import { providerOf } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { consentText } from "#certificates/consent.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import { hasFailed, requestWords } from "#certificates/request.ts";
import { AUTHORITY_OF, isAuthority, isShownByMembers, secretNameOf, sideOf } from "#cluster/certificates/purposes.ts";
import { isInUse, withoutBelief, withoutTrust } from "#cluster/certificates/trusted.ts";
import {
  authorityOf,
  forgottenBy,
  isForeign,
  isIssuedHere,
  isOurs,
  isUnasked,
  isWithheld,
  lackOf,
  seen,
  whyTooLong,
} from "#cluster/certificates/usable.ts";
import {
  endText,
  foreignSecretText,
  forgetfulText,
  lostPairText,
  notFilledText,
  WHAT_FOR,
} from "#cluster/certificates/words.ts";
import { NOT_SERVED } from "#cluster/rules/certificates/certificate-request.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import {
  type ClusterSnapshot,
  isOwned,
  type LeafPurpose,
  type Purpose,
  type SeenCertificate,
} from "#cluster/snapshot.ts";

/** What is wrong with the certificate of one purpose. */
export interface Fault {
  readonly reason: Reason;
  /** unknown: nobody could look. */
  readonly status: "False" | "Unknown";
  readonly message: string;
  /** Whether only a person can clear it away. */
  readonly isForPeople: boolean;
}

/** What is wrong, if anything is: in words, with the Secret and the key named. */
export function faultOf(snapshot: ClusterSnapshot, purpose: Purpose): Fault | undefined {
  const { cluster, certificates, takenAtMs } = snapshot;
  const found = certificates?.[purpose];
  const secret = `Secret ${cluster.metadata.namespace}/${secretNameOf(cluster, purpose)}`;
  if (found === undefined) return { ...UNKNOWN, message: `${secret} has not been read yet` };
  if (found.is === "unknown") return unread(secret, found.why);
  if (found.is === "absent") return missing(snapshot, purpose, `${secret}, ${WHAT_FOR[purpose]},`);
  const facts = found.value;
  if (isIssuedHere(snapshot, purpose) && !isOurs(snapshot, facts))
    return no("CertificateInvalid", foreignSecretText(cluster.metadata.namespace, facts.secretName));
  if (isForeign(snapshot, purpose, facts))
    return no("CertificateInvalid", notFilledText(cluster.metadata.namespace, facts.secretName));
  const withheld = isWithheld(snapshot, purpose, facts);
  const consent = `${secret}, ${WHAT_FOR[purpose]}: ${consentText(cluster.metadata.namespace, facts.secretName)}`;
  if (withheld === "refused") return no("SecretNotAllowed", consent);
  const lack = lackOf(snapshot, purpose, facts) ?? excessOf(purpose, facts);
  if (lack !== undefined) return no("CertificateInvalid", `${secret}, ${WHAT_FOR[purpose]}: ${lack}`);
  if (facts.notAfterMs <= takenAtMs)
    return no("CertificateExpired", `${secret}, ${WHAT_FOR[purpose]}, has ended at ${endText(purpose, facts)}`);
  if (facts.notBeforeMs > takenAtMs)
    return no(
      "CertificateInvalid",
      `${secret}, ${WHAT_FOR[purpose]}, is good only from ${rfc3339(facts.notBeforeMs)} on`,
    );
  const forgotten = isAuthority(purpose) ? forgottenBy(snapshot, sideOf(purpose), facts) : undefined;
  if (forgotten !== undefined)
    return no(
      "CertificateInvalid",
      forgetfulText(cluster.metadata.namespace, facts.secretName, sideOf(purpose), forgotten.secretName),
    );
  const doubting = isAuthority(purpose) ? [] : doubters(snapshot, purpose, facts);
  if (doubting.length === 0)
    return withheld === false ? undefined : no("SecretNotAllowed", `${consent}; who has it already keeps it`);
  return no(
    "CertificateInvalid",
    `${secret}: its tls.crt is signed by an authority that ${doubting.join(", ")} ${doubting.length === 1 ? "does" : "do"} not trust yet`,
  );
}

/** That more is trusted than members can be given: by what they show, or by the authority from which that has it. */
function excessOf(purpose: Purpose, { trust }: SeenCertificate): string | undefined {
  const why = isShownByMembers(purpose) || isAuthority(purpose) ? whyTooLong(trust) : undefined;
  return why && `the certificates in its ca.crt are ${why}`;
}

const UNKNOWN = { reason: "Waiting", status: "Unknown", isForPeople: false } as const;

/** Where the right to look is missing, that is told once, whatever was to be read. */
function unread(what: string, why: string): Fault {
  return rightFault(why) ?? { ...UNKNOWN, message: `${what} could not be read: ${why}` };
}

/** That a right is missing; undefined when something else is the matter. */
function rightFault(why: string): Fault | undefined {
  const message = missingRightText(why);
  return message === undefined ? undefined : { reason: "RightMissing", status: "Unknown", message, isForPeople: true };
}

/**
 * That a right was taken away, or what has been in the way since it was granted: what was seen before counts on, and nobody sees whether it is still
 * so.
 */
export function revokedFault({ certificates }: Pick<ClusterSnapshot, "certificates">): Fault | undefined {
  const why = certificates?.refused;
  return why === undefined ? undefined : unread("what might not be read before", why);
}

function no(reason: Reason, message: string, isForPeople = true): Fault {
  return { reason, status: "False", message, isForPeople };
}

/**
 * Members that do not believe it, by name. Where clients show nothing, nobody asks what these would have shown; and what nobody shows yet they come
 * to trust before.
 */
function doubters(snapshot: ClusterSnapshot, purpose: LeafPurpose, facts: SeenCertificate): readonly string[] {
  return isUnasked(snapshot, purpose) || !isInUse(snapshot, purpose)
    ? []
    : withoutBelief(snapshot, sideOf(purpose), facts);
}

/** @param subject the Secret, as the subject of a sentence */
function missing(snapshot: ClusterSnapshot, purpose: Purpose, subject: string): Fault {
  const provider = providerOf(snapshot.cluster.spec, sideOf(purpose));
  if (provider === "Operator") return unmade(snapshot, purpose, subject);
  if (provider === "Secret" || purpose === "peerCA" || purpose === "clientCA")
    return no("CertificateMissing", `${subject} is not there; make it, with tls.crt, tls.key and ca.crt`);
  return requestFault(snapshot, purpose, subject);
}

/** Why the operator has not made it. */
function unmade(snapshot: ClusterSnapshot, purpose: Purpose, subject: string): Fault {
  const side = sideOf(purpose);
  const signer = authorityOf(snapshot, side);
  const authority = seen(snapshot, AUTHORITY_OF[side]);
  if (signer === undefined && authority !== undefined)
    return no("CertificatesPending", `${subject} is made once Secret ${authority.secretName} can sign`, false);
  const isShown = !isAuthority(purpose) && isInUse(snapshot, purpose);
  const doubting =
    signer === undefined || !isShown ? [] : withoutTrust(snapshot, side, [signer.fingerprint], signer.trust);
  if (doubting.length === 0) return no("CertificatesPending", `${subject} is about to be made`, false);
  return no("CertificateMissing", lostPairText(subject, signer?.secretName ?? "", doubting));
}

function requestFault(snapshot: ClusterSnapshot, purpose: LeafPurpose, subject: string): Fault {
  const found = snapshot.certificates?.requests?.[purpose];
  if (found?.is === "notServed") return no("IssuerFailed", NOT_SERVED);
  if (found?.is === "unknown") return unread("its Certificate", found.why);
  if (found?.is !== "present") return no("CertificatesPending", `${subject} is about to be asked for`, false);
  if (!isOwned(snapshot, found.value)) return no("CertificateMissing", takenText(found.value));
  const message = `${subject} is not there yet, Certificate ${found.value.metadata.name} asks for it; ${requestWords(found.value)}`;
  return hasFailed(found.value) ? no("IssuerFailed", message) : no("CertificatesPending", message, false);
}
