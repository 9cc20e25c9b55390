import { applicationCertificateName } from "#api/names.ts";
import { providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot, LeafPurpose, Purpose } from "#cluster/snapshot.ts";
import { betweenName } from "#cluster-tls/switch/former.ts";
import { leavesOf, purposesOf, SHOWN_ON, SIDES, secretNameOf, sideOf } from "./purposes.ts";

// The objects of a cluster's certificates, each by its role.

/** former: in use, while the spec requests another. between: used by some members since an abandoned change. */
export type What =
  | Purpose
  | `former ${Purpose}`
  | `between ${Shown}`
  | "handout"
  | "trustMap"
  | `request ${LeafPurpose}`;
type Shown = (typeof SHOWN_ON)[Side];

/** The cluster to read the objects of, and its members. */
export interface Given {
  readonly cluster: EtcdCluster;
  /** The cluster with the TLS in use, when the spec requests another. */
  readonly former: EtcdCluster | undefined;
  readonly members: Pick<ClusterSnapshot, "peers" | "pods">;
}

/** All objects of the cluster's certificates. */
export function wantedOf({ cluster, former, members }: Given): readonly What[] {
  const { spec } = cluster;
  const requested = SIDES.filter((side) => providerOf(spec, side) === "CertManager");
  const requests = requested.flatMap((side) => leavesOf(cluster, side)).map((purpose) => `request ${purpose}` as const);
  const provider = providerOf(spec, "client");
  const clients: readonly What[] =
    provider === "None" ? [] : provider === "Operator" ? ["trustMap"] : ["trustMap", "handout"];
  const left = former === undefined ? [] : purposesOf(former).map((purpose) => `former ${purpose}` as const);
  const sides = SIDES.filter((side) => betweenName(cluster, members, side) !== undefined);
  const between = sides.map((side) => `between ${SHOWN_ON[side]}` as const);
  return [...purposesOf(cluster), ...clients, ...requests, ...left, ...between];
}

/** The name of the Secret. */
export function nameOf(
  { cluster, former, members }: Given,
  what: Exclude<What, "trustMap" | `request ${LeafPurpose}`>,
) {
  if (isBetween(what)) return betweenName(cluster, members, sideOf(betweenPurpose(what)));
  if (what === "handout") return applicationCertificateName(cluster.metadata.name);
  if (!isFormer(what)) return secretNameOf(cluster, what);
  return former && secretNameOf(former, formerPurpose(what));
}

/**
 * Whether a user-provided Secret is waited for, before the first member or a provider change: a user may be about to
 * label it.
 */
export function isAwaited({ cluster: { spec }, former, members }: Given, what: What): boolean {
  if (!isPurpose(what) || (former === undefined && members.peers.length > 0)) return false;
  return providerOf(spec, sideOf(what)) === "Secret";
}

/** Whether the operator itself creates it, by the current spec. */
export function isMadeHere({ cluster: { spec } }: Given, what: What): boolean {
  return what === "trustMap" || (isPurpose(what) && providerOf(spec, sideOf(what)) === "Operator");
}

export function isRequest(what: What): what is `request ${LeafPurpose}` {
  return what.startsWith("request ");
}

export function purposeOf(what: `request ${LeafPurpose}`): LeafPurpose {
  return what.slice("request ".length) as LeafPurpose;
}

export function isFormer(what: What): what is `former ${Purpose}` {
  return what.startsWith("former ");
}

export function formerPurpose(what: `former ${Purpose}`): Purpose {
  return what.slice("former ".length) as Purpose;
}

export function isBetween(what: What): what is `between ${Shown}` {
  return what.startsWith("between ");
}

export function betweenPurpose(what: `between ${Shown}`): Shown {
  return what.slice("between ".length) as Shown;
}

export function isPurpose(what: What): what is Purpose {
  return what !== "trustMap" && what !== "handout" && !isRequest(what) && !isFormer(what) && !isBetween(what);
}
