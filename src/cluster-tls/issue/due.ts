import { givenText } from "#api/given-metadata.ts";
import { lifeOf } from "#api/tls.ts";
import { fingerprint, isSameData } from "#base/hash.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { hasSigned, vouches } from "#certificates/trust.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";
import { isCaPublished } from "#cluster-tls/change/clients.ts";
import { isInUse, membersWithoutCa, mergeBundles } from "#cluster-tls/check/trusted.ts";
import { clientSecretMetadata, isShownByMembers, leavesOf, orderOf, sideOf } from "#cluster-tls/read/purposes.ts";
import { authorityOf, contentProblem, isOurs, isUnverified, usable } from "#cluster-tls/read/usable.ts";

/** pair: a new certificate with a new key. trust: ca.crt, labels and annotations beside the existing pair. */
interface Due {
  readonly what: "pair" | "trust";
  /** A clause with the Secret as its subject. */
  readonly because: string;
}

/** Hash of the order that a certificate was issued for, kept in an annotation of its Secret. */
export function madeForOf({ cluster }: ClusterSnapshot, purpose: LeafPurpose): string {
  return fingerprint(orderOf(cluster, purpose));
}

/**
 * What is due for a certificate that the operator issues, if anything. A CA that some member does not trust signs
 * nothing in use: members first get the CA in ca.crt of the existing Secret.
 * @param authority the CA of the side, with the bundle for the new Secret
 */
export function dueOf(
  snapshot: ClusterSnapshot,
  purpose: LeafPurpose,
  authority: SeenCertificate | undefined = authorityOf(snapshot, sideOf(purpose)),
): Due | undefined {
  const found = snapshot.certificates?.[purpose];
  // With a clock before the CA's begin, every other time would be wrong as well.
  if (authority === undefined || authority.notBeforeMs > snapshot.takenAtMs) return undefined;
  if (found === undefined || found.is === "unknown") return undefined;
  const isSigner = found.is === "present" && hasSigned(authority, found.value);
  const isSafe = isUnverified(snapshot, purpose) || !isInUse(snapshot, purpose);
  // A certificate of an expired CA is not accepted; the existing one is no worse.
  const isOver = authority.notAfterMs <= snapshot.takenAtMs;
  const maySign = !isOver && (isSigner || isSafe || isTrusted(snapshot, purpose, authority.fingerprint));
  const pair = (because: string): Due | undefined => (maySign ? { what: "pair", because } : undefined);
  if (found.is === "absent") return pair("it is missing");
  const leaf = found.value;
  if (!isOurs(snapshot, leaf)) return undefined;
  const lack = contentProblem(snapshot, purpose, leaf);
  const spread: Due = { what: "trust", because: "its ca.crt differs from that of the CA" };
  const isSpread = isSameData([...leaf.trustIds].sort(), [...authority.trustIds].sort());
  if (leaf.trouble !== undefined) {
    // If only its ca.crt is wrong, that can be fixed before members trust the CA that would reissue the certificate.
    const isUnsigned = leaf.signerId === undefined && leaf.fingerprint !== "";
    return pair(leaf.trouble) ?? (isUnsigned && !isSpread ? spread : undefined);
  }
  const why = lack ?? whyNewPair(snapshot, purpose, leaf, authority);
  const due = why === undefined ? undefined : pair(why);
  if (due !== undefined) return due;
  if (!vouches(authority.trust, leaf)) return undefined;
  if (!isSpread) return spread;
  return purpose === "application" && !hasGiven(snapshot, leaf) ? { what: "trust", because: GIVEN_DIFFERS } : undefined;
}

/** A clause with Secret NAME-client as its subject. */
export const GIVEN_DIFFERS = "its labels or annotations differ from spec.clientSecret";

/** Whether Secret NAME-client has the labels and annotations of the spec, and none that the spec no longer has. */
export function hasGiven({ cluster }: ClusterSnapshot, { given }: SeenCertificate): boolean {
  return given === givenText(clientSecretMetadata(cluster));
}

/**
 * The CA that signs on this side, with the bundle that its certificates carry.
 * @param additional additional CAs, in PEM
 */
export function signerOf(snapshot: ClusterSnapshot, purpose: LeafPurpose, additional: string | undefined) {
  const authority = authorityOf(snapshot, sideOf(purpose));
  // Members take their trust from their own Secret, which holds the CA's bundle alone.
  if (authority === undefined || additional === undefined || isShownByMembers(purpose)) return authority;
  const trust = mergeBundles(authority.trust, additional);
  return { ...authority, trust, trustIds: parsedIn(trust).map(idOf) };
}

function whyNewPair(
  snapshot: ClusterSnapshot,
  purpose: LeafPurpose,
  leaf: SeenCertificate,
  authority: SeenCertificate,
): string | undefined {
  const { cluster, takenAtMs } = snapshot;
  if (leaf.madeFor !== madeForOf(snapshot, purpose)) return "spec.tls has changed since it was issued";
  const { durationMs, renewBeforeMs } = lifeOf(cluster.spec, sideOf(purpose));
  // A certificate that is about to expire is replaced without waiting.
  if (!hasSigned(authority, leaf))
    return leaf.notAfterMs - takenAtMs <= renewBeforeMs / 2 ||
      !isInUse(snapshot, purpose) ||
      mayBeKnown(snapshot, purpose, leaf, authority)
      ? "a new CA signs now"
      : undefined;
  // A new certificate that does not expire later is useless.
  const isLonger = Math.min(takenAtMs + durationMs, authority.notAfterMs) > leaf.notAfterMs;
  return isEnding(snapshot, purpose, leaf) && isLonger ? `it expires at ${rfc3339(leaf.notAfterMs)}` : undefined;
}

/**
 * Whether replacing the certificate is only a renewal: it nears its end and has no defect. No member restarts, since
 * etcd reads its files again. `dueOf` requires that every member trusts the CA that signs now.
 * @param leaf the certificate that is there
 */
export function isRenewal(snapshot: ClusterSnapshot, purpose: LeafPurpose, leaf: SeenCertificate): boolean {
  return isEnding(snapshot, purpose, leaf) && leaf.trouble === undefined;
}

/** Whether the certificate is due for renewal, by `renewBefore` of its side. */
function isEnding({ cluster, takenAtMs }: ClusterSnapshot, purpose: LeafPurpose, leaf: SeenCertificate): boolean {
  return leaf.notAfterMs - takenAtMs <= lifeOf(cluster.spec, sideOf(purpose)).renewBeforeMs;
}

/**
 * Whether every user of the side's certificates knows the new CA, so that a working certificate may be replaced. A
 * certificate does not work while members do not trust its CA.
 */
function mayBeKnown(
  snapshot: ClusterSnapshot,
  purpose: LeafPurpose,
  { signerId = "" }: SeenCertificate,
  authority: SeenCertificate,
): boolean {
  // Only users of the operator's Secrets are waited for.
  const side = sideOf(purpose);
  const all = leavesOf(snapshot.cluster, side).flatMap((each) => usable(snapshot, each) ?? []);
  const hasNewCa = (each: SeenCertificate) =>
    hasSigned(authority, each) || isCaPublished(snapshot, side, each, authority.fingerprint);
  return all.every(hasNewCa) || !isTrusted(snapshot, purpose, signerId);
}

/** Whether every member trusts the CA. */
function isTrusted(snapshot: ClusterSnapshot, purpose: LeafPurpose, id: string): boolean {
  return membersWithoutCa(snapshot, sideOf(purpose), [id]).length === 0;
}
