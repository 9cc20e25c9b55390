import { applicationCertificateName } from "#api/names.ts";
import { providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { betweenName } from "#cluster/certificates/former.ts";
import { leavesOf, purposesOf, SHOWN_ON, SIDES, secretNameOf, sideOf } from "#cluster/certificates/purposes.ts";
import type { ClusterSnapshot, LeafPurpose, Purpose } from "#cluster/snapshot.ts";

// The objects that a cluster's certificates are made of, each by what it is there for.

/** former: of what is in use, where the spec asks for something else by now. between: of what some show that was asked for in between. */
export type What =
  | Purpose
  | `former ${Purpose}`
  | `between ${Shown}`
  | "handout"
  | "trustMap"
  | `request ${LeafPurpose}`;
type Shown = (typeof SHOWN_ON)[Side];

/** Of whom they are, and how it is made by now. */
export interface Given {
  readonly cluster: EtcdCluster;
  /** As it asked for what is in use, where it asks for something else by now. */
  readonly former: EtcdCluster | undefined;
  readonly members: Pick<ClusterSnapshot, "peers" | "pods">;
}

/** All objects that the cluster's certificates are made of. */
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

/** The Secret that is read. */
export function nameOf(
  { cluster, former, members }: Given,
  what: Exclude<What, "trustMap" | `request ${LeafPurpose}`>,
) {
  if (isBetween(what)) return betweenName(cluster, members, sideOf(betweenPurpose(what)));
  if (what === "handout") return applicationCertificateName(cluster.metadata.name);
  if (!isFormer(what)) return secretNameOf(cluster, what);
  return former && secretNameOf(former, formerPurpose(what));
}

/** Whether no member is made yet, or all show another one, and somebody else's Secret is waited for: a person may be about to label it. */
export function isAwaited({ cluster: { spec }, former, members }: Given, what: What): boolean {
  if (!isPurpose(what) || (former === undefined && members.peers.length > 0)) return false;
  return providerOf(spec, sideOf(what)) === "Secret";
}

/** Whether it is the operator that makes it, as the spec is now. */
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
