import { lifeOf } from "#api/tls.ts";
import { fingerprint, isSameData } from "#base/hash.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { hasSigned, vouches } from "#certificates/trust.ts";
import { isShownByMembers, leavesOf, orderOf, sideOf } from "#cluster/certificates/purposes.ts";
import { hasReached } from "#cluster/certificates/rotation.ts";
import { isInUse, united, withoutTrust } from "#cluster/certificates/trusted.ts";
import { authorityOf, isOurs, isUnasked, lackOf, usable } from "#cluster/certificates/usable.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";

/** pair: a new certificate with a new key. trust: only whom it says to trust, beside the pair that is there. */
interface Due {
  readonly what: "pair" | "trust";
  /** A clause about the Secret. */
  readonly because: string;
}

/** By which a Secret says what its certificate was made for. */
export function madeForOf({ cluster }: ClusterSnapshot, purpose: LeafPurpose): string {
  return fingerprint(orderOf(cluster, purpose));
}

/**
 * What of a certificate that the operator makes is due, if anything is. By an authority that some member does not trust nothing is made:
 * members get the authority first, by what is there; unless nobody shows it yet.
 * @param authority the one of its side, and whom the certificate is to say to trust
 */
export function dueOf(
  snapshot: ClusterSnapshot,
  purpose: LeafPurpose,
  authority: SeenCertificate | undefined = authorityOf(snapshot, sideOf(purpose)),
): Due | undefined {
  const found = snapshot.certificates?.[purpose];
  // A clock that says that it was not there yet is wrong about all other times, too.
  if (authority === undefined || authority.notBeforeMs > snapshot.takenAtMs) return undefined;
  if (found === undefined || found.is === "unknown") return undefined;
  const isSigner = found.is === "present" && hasSigned(authority, found.value);
  const isSafe = isUnasked(snapshot, purpose) || !isInUse(snapshot, purpose);
  // What is signed by one that has ended nobody believes; whatever is there is no worse.
  const isOver = authority.notAfterMs <= snapshot.takenAtMs;
  const maySign = !isOver && (isSigner || isSafe || isTrusted(snapshot, purpose, authority.fingerprint));
  const pair = (because: string): Due | undefined => (maySign ? { what: "pair", because } : undefined);
  if (found.is === "absent") return pair("it is not there");
  const leaf = found.value;
  if (!isOurs(snapshot, leaf)) return undefined;
  const lack = lackOf(snapshot, purpose, leaf);
  const spread: Due = { what: "trust", because: "its ca.crt is not that of the authority" };
  const isSpread = isSameData([...leaf.trustIds].sort(), [...authority.trustIds].sort());
  if (leaf.trouble !== undefined) {
    // Where its own ca.crt is what is wrong, that may be put right before members trust who could make it anew.
    const isUnsigned = leaf.signerId === undefined && leaf.fingerprint !== "";
    return pair(leaf.trouble) ?? (isUnsigned && !isSpread ? spread : undefined);
  }
  const why = lack ?? whyNewPair(snapshot, purpose, leaf, authority);
  const due = why === undefined ? undefined : pair(why);
  if (due !== undefined) return due;
  return isSpread || !vouches(authority.trust, leaf) ? undefined : spread;
}

/** The authority that signs on this side, with all whom certificates are to say to trust. @param besides in PEM */
export function signerOf(snapshot: ClusterSnapshot, purpose: LeafPurpose, besides: string | undefined) {
  const authority = authorityOf(snapshot, sideOf(purpose));
  // What members are to trust is read off what they show: there it stands alone.
  if (authority === undefined || besides === undefined || isShownByMembers(purpose)) return authority;
  const trust = united(authority.trust, besides);
  return { ...authority, trust, trustIds: parsedIn(trust).map(idOf) };
}

function whyNewPair(
  snapshot: ClusterSnapshot,
  purpose: LeafPurpose,
  leaf: SeenCertificate,
  authority: SeenCertificate,
): string | undefined {
  const { cluster, takenAtMs } = snapshot;
  if (leaf.madeFor !== madeForOf(snapshot, purpose)) return "it was made for something else than the spec says by now";
  const { durationMs, renewBeforeMs } = lifeOf(cluster.spec, sideOf(purpose));
  // What is about to end is waited for no longer: nobody would believe it soon.
  if (!hasSigned(authority, leaf))
    return leaf.notAfterMs - takenAtMs <= renewBeforeMs / 2 ||
      !isInUse(snapshot, purpose) ||
      mayBeKnown(snapshot, purpose, leaf, authority)
      ? "its authority is followed by another one"
      : undefined;
  const isDue = leaf.notAfterMs - takenAtMs <= renewBeforeMs;
  // A new one that would not last longer helps nobody.
  const isLonger = Math.min(takenAtMs + durationMs, authority.notAfterMs) > leaf.notAfterMs;
  return isDue && isLonger ? `it ends at ${rfc3339(leaf.notAfterMs)}` : undefined;
}

/**
 * Whether everybody who mounts one of the side's certificates has heard of who signs now, so that what works may be replaced. What members do not
 * trust does not work.
 */
function mayBeKnown(
  snapshot: ClusterSnapshot,
  purpose: LeafPurpose,
  { signerId = "" }: SeenCertificate,
  authority: SeenCertificate,
): boolean {
  // Who cannot be told by a Secret of ours is not waited for.
  const side = sideOf(purpose);
  const all = leavesOf(snapshot.cluster, side).flatMap((each) => usable(snapshot, each) ?? []);
  const hasHeard = (each: SeenCertificate) =>
    hasSigned(authority, each) || hasReached(snapshot, side, each, authority.fingerprint);
  return all.every(hasHeard) || !isTrusted(snapshot, purpose, signerId);
}

/** Whether every member trusts what the authority signs. */
function isTrusted(snapshot: ClusterSnapshot, purpose: LeafPurpose, id: string): boolean {
  return withoutTrust(snapshot, sideOf(purpose), [id]).length === 0;
}
