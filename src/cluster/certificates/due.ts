import { lifeOf } from "#api/tls.ts";
import { fingerprint, isSameData } from "#base/hash.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { orderOf, sideOf } from "#cluster/certificates/purposes.ts";
import { withoutTrust } from "#cluster/certificates/trusted.ts";
import { authorityOf, isOurs, lackOf } from "#cluster/certificates/usable.ts";
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
 * What of a certificate that the operator makes is due, if anything is. By an authority that some member does not trust yet nothing is made in
 * place of what still works: members get the authority first.
 */
export function dueOf(snapshot: ClusterSnapshot, purpose: LeafPurpose): Due | undefined {
  const authority = authorityOf(snapshot, sideOf(purpose));
  const found = snapshot.certificates?.[purpose];
  // A clock that says that it was not there yet is wrong about all other times, too.
  if (authority === undefined || authority.notBeforeMs > snapshot.takenAtMs) return undefined;
  if (found === undefined || found.is === "unknown") return undefined;
  if (found.is === "absent") return { what: "pair", because: "it is not there" };
  const leaf = found.value;
  if (!isOurs(snapshot, leaf)) return undefined;
  const lack = lackOf(snapshot, purpose, leaf);
  if (lack !== undefined) return { what: "pair", because: lack };
  const pair = whyNewPair(snapshot, purpose, leaf, authority);
  const mayWait = leaf.notAfterMs > snapshot.takenAtMs && leaf.signerId !== authority.fingerprint;
  if (pair !== undefined && !(mayWait && !isTrusted(snapshot, purpose, authority)))
    return { what: "pair", because: pair };
  const isSpread = isSameData([...leaf.trustIds].sort(), [...authority.trustIds].sort());
  return isSpread ? undefined : { what: "trust", because: "its ca.crt is not that of the authority" };
}

function whyNewPair(
  snapshot: ClusterSnapshot,
  purpose: LeafPurpose,
  leaf: SeenCertificate,
  authority: SeenCertificate,
): string | undefined {
  const { cluster, takenAtMs } = snapshot;
  if (leaf.madeFor !== madeForOf(snapshot, purpose)) return "it was made for something else than the spec says by now";
  if (leaf.signerId !== authority.fingerprint) return "its authority is followed by another one";
  const { durationMs, renewBeforeMs } = lifeOf(cluster.spec, sideOf(purpose));
  const isDue = leaf.notAfterMs - takenAtMs <= renewBeforeMs;
  // A new one that would not last longer helps nobody.
  const isLonger = Math.min(takenAtMs + durationMs, authority.notAfterMs) > leaf.notAfterMs;
  return isDue && isLonger ? `it ends at ${rfc3339(leaf.notAfterMs)}` : undefined;
}

/** Whether every member trusts what the authority signs. */
export function isTrusted(snapshot: ClusterSnapshot, purpose: LeafPurpose, authority: SeenCertificate): boolean {
  return withoutTrust(snapshot, sideOf(purpose), [authority.fingerprint], authority.trust).length === 0;
}
