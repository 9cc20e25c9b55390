import type { Reason } from "#api/conditions.ts";
import { providerOf } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { consentText } from "#certificates/consent.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import { hasFailed, requestWords } from "#certificates/request.ts";
import { takenText } from "#cluster/owned.ts";
import {
  type ClusterSnapshot,
  isOwned,
  type LeafPurpose,
  type Purpose,
  type SeenCertificate,
} from "#cluster/snapshot.ts";
import { AUTHORITY_OF, isAuthority, isShownByMembers, secretNameOf, sideOf } from "#cluster-tls/read/purposes.ts";
import {
  authorityOf,
  contentProblem,
  isForeign,
  isIssuedHere,
  isOurs,
  isUnverified,
  isWithheld,
  seen,
  untrustedSigner,
  whyTooLong,
} from "#cluster-tls/read/usable.ts";
import {
  endText,
  foreignSecretText,
  lostPairText,
  NOT_SERVED,
  notFilledText,
  untrustedSignerText,
  WHAT_FOR,
} from "#cluster-tls/read/words.ts";
import { isInUse, membersRejecting, membersWithoutCa } from "./trusted.ts";

/** A problem of the certificate of one purpose. */
export interface CertificateProblem {
  readonly reason: Reason;
  /** Unknown: the Secret could not be read. */
  readonly status: "False" | "Unknown";
  readonly message: string;
  /** Whether only a user can fix it. */
  readonly needsUser: boolean;
}

/** The problem of this certificate, if any, as a message that names the Secret and the key. */
export function certificateProblem(snapshot: ClusterSnapshot, purpose: Purpose): CertificateProblem | undefined {
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
  const lack = contentProblem(snapshot, purpose, facts) ?? excessOf(purpose, facts);
  if (lack !== undefined) return no("CertificateInvalid", `${secret}, ${WHAT_FOR[purpose]}: ${lack}`);
  if (facts.notAfterMs <= takenAtMs)
    return no("CertificateExpired", `${secret}, ${WHAT_FOR[purpose]}, has expired at ${endText(purpose, facts)}`);
  if (facts.notBeforeMs > takenAtMs)
    return no(
      "CertificateInvalid",
      `${secret}, ${WHAT_FOR[purpose]}, is not valid before ${rfc3339(facts.notBeforeMs)}`,
    );
  const forgotten = isAuthority(purpose) ? untrustedSigner(snapshot, sideOf(purpose), facts) : undefined;
  if (forgotten !== undefined)
    return no(
      "CertificateInvalid",
      untrustedSignerText(cluster.metadata.namespace, facts.secretName, sideOf(purpose), forgotten.secretName),
    );
  const rejecting = isAuthority(purpose) ? [] : rejectingMembers(snapshot, purpose, facts);
  if (rejecting.length === 0)
    return withheld === false ? undefined : no("SecretNotAllowed", `${consent}; members that use it already keep it`);
  return no(
    "CertificateInvalid",
    `${secret}: its tls.crt is signed by a CA that ${rejecting.join(", ")} ${rejecting.length === 1 ? "does" : "do"} not trust yet`,
  );
}

/**
 * States that ca.crt is longer than members can be given. Only for a certificate of members, or a CA: its bundle
 * becomes theirs.
 */
function excessOf(purpose: Purpose, { trust }: SeenCertificate): string | undefined {
  const why = isShownByMembers(purpose) || isAuthority(purpose) ? whyTooLong(trust) : undefined;
  return why && `the certificates in its ca.crt have ${why}`;
}

const UNKNOWN = { reason: "Waiting", status: "Unknown", needsUser: false } as const;

/**
 * The problem of an object that could not be read. A missing right has the same message for every object, so it is
 * reported once.
 */
function unread(what: string, why: string): CertificateProblem {
  return rightProblem(why) ?? { ...UNKNOWN, message: `${what} could not be read: ${why}` };
}

/** The problem of a missing right; `undefined` when the error has another cause. */
function rightProblem(why: string): CertificateProblem | undefined {
  const message = missingRightText(why);
  return message === undefined ? undefined : { reason: "RightMissing", status: "Unknown", message, needsUser: true };
}

/**
 * The problem of objects that could be read before: the right was revoked, or an error has prevented reading since it
 * was granted. What was seen before still counts, but may be outdated.
 */
export function revokedProblem({
  certificates,
}: Pick<ClusterSnapshot, "certificates">): CertificateProblem | undefined {
  const why = certificates?.refused;
  return why === undefined ? undefined : unread("the Secrets", why);
}

function no(reason: Reason, message: string, needsUser = true): CertificateProblem {
  return { reason, status: "False", message, needsUser };
}

/**
 * Members that reject the certificate, by name. None where clients need no certificate, and none for a certificate that
 * is not in use yet: members trust its CA first.
 */
function rejectingMembers(snapshot: ClusterSnapshot, purpose: LeafPurpose, facts: SeenCertificate): readonly string[] {
  return isUnverified(snapshot, purpose) || !isInUse(snapshot, purpose)
    ? []
    : membersRejecting(snapshot, sideOf(purpose), facts);
}

/** @param subject the Secret, as the subject of a sentence */
function missing(snapshot: ClusterSnapshot, purpose: Purpose, subject: string): CertificateProblem {
  const provider = providerOf(snapshot.cluster.spec, sideOf(purpose));
  if (provider === "Operator") return notCreated(snapshot, purpose, subject);
  if (provider === "Secret" || purpose === "peerCA" || purpose === "clientCA")
    return no("CertificateMissing", `${subject} is missing; create it, with tls.crt, tls.key and ca.crt`);
  return requestProblem(snapshot, purpose, subject);
}

/** Why the operator has not created it. */
function notCreated(snapshot: ClusterSnapshot, purpose: Purpose, subject: string): CertificateProblem {
  const side = sideOf(purpose);
  const signer = authorityOf(snapshot, side);
  const authority = seen(snapshot, AUTHORITY_OF[side]);
  if (signer === undefined && authority !== undefined)
    return no(
      "CertificatesPending",
      `${subject} is created once the CA in Secret ${authority.secretName} can sign`,
      false,
    );
  const isShown = !isAuthority(purpose) && isInUse(snapshot, purpose);
  const rejecting =
    signer === undefined || !isShown ? [] : membersWithoutCa(snapshot, side, [signer.fingerprint], signer.trust);
  if (rejecting.length === 0) return no("CertificatesPending", `${subject} is about to be created`, false);
  return no("CertificateMissing", lostPairText(subject, signer?.secretName ?? "", rejecting));
}

function requestProblem(snapshot: ClusterSnapshot, purpose: LeafPurpose, subject: string): CertificateProblem {
  const found = snapshot.certificates?.requests?.[purpose];
  if (found?.is === "notServed") return no("IssuerFailed", NOT_SERVED);
  if (found?.is === "unknown") return unread("its Certificate", found.why);
  if (found?.is !== "present") return no("CertificatesPending", `${subject} is about to be requested`, false);
  if (!isOwned(snapshot, found.value)) return no("CertificateMissing", takenText(found.value));
  const message = `${subject} is missing: Certificate ${found.value.metadata.name} requests it; ${requestWords(found.value)}`;
  return hasFailed(found.value) ? no("IssuerFailed", message) : no("CertificatesPending", message, false);
}
