import { applicationCertificateName } from "#api/names.ts";
import { providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot, LeafPurpose, Purpose } from "#cluster/snapshot.ts";
import { abandonedName } from "#cluster-tls/effective/previous.ts";
import { leavesOf, purposesOf, SHOWN_ON, SIDES, secretNameOf, sideOf } from "./purposes.ts";

// The objects of a cluster's certificates, each by its role.

/**
 * previous: the source in use while `spec.tls` requests a different one. abandoned: used by some members since an
 * abandoned change.
 */
export type What =
  | Purpose
  | `previous ${Purpose}`
  | `abandoned ${Shown}`
  | "clientSecret"
  | "trustMap"
  | `request ${LeafPurpose}`;
type Shown = (typeof SHOWN_ON)[Side];

/** The cluster to read the objects of, and its members. */
export interface Given {
  readonly cluster: EtcdCluster;
  /** The cluster with the TLS in use, when the spec requests another. */
  readonly previous: EtcdCluster | undefined;
  readonly members: Pick<ClusterSnapshot, "peers" | "pods">;
}

/** All objects of the cluster's certificates. */
export function wantedOf({ cluster, previous, members }: Given): readonly What[] {
  const { spec } = cluster;
  const requested = SIDES.filter((side) => providerOf(spec, side) === "CertManager");
  const requests = requested.flatMap((side) => leavesOf(cluster, side)).map((purpose) => `request ${purpose}` as const);
  const provider = providerOf(spec, "client");
  const clients: readonly What[] =
    provider === "None" ? [] : provider === "Operator" ? ["trustMap"] : ["trustMap", "clientSecret"];
  const left = previous === undefined ? [] : purposesOf(previous).map((purpose) => `previous ${purpose}` as const);
  const sides = SIDES.filter((side) => abandonedName(cluster, members, side) !== undefined);
  const abandoned = sides.map((side) => `abandoned ${SHOWN_ON[side]}` as const);
  return [...purposesOf(cluster), ...clients, ...requests, ...left, ...abandoned];
}

/** The name of the Secret. */
export function nameOf(
  { cluster, previous, members }: Given,
  what: Exclude<What, "trustMap" | `request ${LeafPurpose}`>,
) {
  if (isAbandoned(what)) return abandonedName(cluster, members, sideOf(abandonedPurpose(what)));
  if (what === "clientSecret") return applicationCertificateName(cluster.metadata.name);
  if (!isPrevious(what)) return secretNameOf(cluster, what);
  return previous && secretNameOf(previous, previousPurpose(what));
}

/**
 * Whether a user-provided Secret is waited for, before the first member or a provider change: a user may be about to
 * label it.
 */
export function isAwaited({ cluster: { spec }, previous, members }: Given, what: What): boolean {
  if (!isPurpose(what) || (previous === undefined && members.peers.length > 0)) return false;
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

export function isPrevious(what: What): what is `previous ${Purpose}` {
  return what.startsWith("previous ");
}

export function previousPurpose(what: `previous ${Purpose}`): Purpose {
  return what.slice("previous ".length) as Purpose;
}

export function isAbandoned(what: What): what is `abandoned ${Shown}` {
  return what.startsWith("abandoned ");
}

export function abandonedPurpose(what: `abandoned ${Shown}`): Shown {
  return what.slice("abandoned ".length) as Shown;
}

export function isPurpose(what: What): what is Purpose {
  return what !== "trustMap" && what !== "clientSecret" && !isRequest(what) && !isPrevious(what) && !isAbandoned(what);
}
