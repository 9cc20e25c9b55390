import { DEFAULT_TLS } from "#api/tls.ts";
import { keptClaims, schemeOn } from "#cluster/identity/desired/identity.ts";
import { type ClusterSnapshot, identityOf, isOwned } from "#cluster/snapshot.ts";

// Why is the default written into the spec, and not a default of the schema?
//   A schema default would turn TLS on for every existing cluster. A value in the spec is visible, and stays the same
//   whatever default a later operator has. Manifests applied without spec.tls do not remove it.

/**
 * Whether a new cluster's use of TLS is still undecided. Then spec.tls is missing, no data volume of an http cluster is
 * kept, and no EtcdRestore creates one.
 */
export function isTlsOpen(snapshot: ClusterSnapshot): boolean {
  const { cluster, restore } = snapshot;
  if (identityOf(snapshot) !== undefined || cluster.spec.tls !== undefined) return false;
  const claims = keptClaims(snapshot);
  if (claims.length > 0) return claims.every((claim) => schemeOn(claim) === "https");
  return restore === undefined || !isOwned(snapshot, restore);
}

/** The snapshot with the default TLS, when it is still undecided. */
export function withDefaultTls(snapshot: ClusterSnapshot): ClusterSnapshot {
  if (!isTlsOpen(snapshot)) return snapshot;
  const { cluster } = snapshot;
  return { ...snapshot, cluster: { ...cluster, spec: { ...cluster.spec, tls: DEFAULT_TLS } } };
}
