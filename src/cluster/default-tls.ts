import { DEFAULT_TLS } from "#api/tls.ts";
import { keptClaims, schemeOn } from "#cluster/desired/identity.ts";
import { type ClusterSnapshot, identityOf, isOwned } from "#cluster/snapshot.ts";

// Why is it written into the spec, and no default of the schema?
//   A default would switch TLS on under every cluster that was made before there was one. Written, it can be read, and stays as it is whatever an
//   operator to come would write. Whoever applies a manifest without it leaves it alone.

/**
 * Whether nobody has said yet if a cluster to come speaks TLS: neither spec.tls nor the data of members that reach each other by http, nor an
 * EtcdRestore that makes such data.
 */
export function isTlsOpen(snapshot: ClusterSnapshot): boolean {
  const { cluster, restore } = snapshot;
  if (identityOf(snapshot) !== undefined || cluster.spec.tls !== undefined) return false;
  const claims = keptClaims(snapshot);
  if (claims.length > 0) return claims.every((claim) => schemeOn(claim) === "https");
  return restore === undefined || !isOwned(snapshot, restore);
}

/** The cluster as it will be when that is said. */
export function withDefaultTls(snapshot: ClusterSnapshot): ClusterSnapshot {
  if (!isTlsOpen(snapshot)) return snapshot;
  const { cluster } = snapshot;
  return { ...snapshot, cluster: { ...cluster, spec: { ...cluster.spec, tls: DEFAULT_TLS } } };
}
