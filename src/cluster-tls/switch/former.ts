import { askedOperatorSecretName, issuerOf, operatorSecretName, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster, EtcdClusterSpec, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { Observed } from "#base/observed.ts";
import { whyStranger } from "#cluster/auth/users.ts";
import { type ClusterSnapshot, remembered, type SeenCertificate } from "#cluster/snapshot.ts";
import { secretsInUse, withoutBelief } from "#cluster-tls/check/trusted.ts";
import { SHOWN_ON, SIDES, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { isInTime, isUnasked, usable } from "#cluster-tls/read/usable.ts";
import { keptSide } from "./kept.ts";

// Which certificates are managed during a provider change?
//   Those of two sources, in Secrets with different names. `status.tls` records the source in use, `spec.tls` the
//   requested one. The certificates in use are managed as if `spec.tls` had not changed, until no member or client uses
//   them.

type Members = Pick<ClusterSnapshot, "peers">;
type Mounted = Pick<ClusterSnapshot, "pods">;
type Tls = NonNullable<EtcdClusterSpec["tls"]>;
type TlsStatus = NonNullable<EtcdClusterStatus["tls"]>;
/** The source of certificates of each side, as the status records it. */
type InUse = { readonly [S in Side]?: NonNullable<TlsStatus[S]>["issuedBy"] };

/**
 * The cluster with the TLS configuration that is in use, on the sides where spec.tls has changed. `undefined` when
 * spec.tls is what is in use.
 */
export function withFormerTls(cluster: EtcdCluster, members: Members): EtcdCluster | undefined {
  const { tls } = cluster.spec;
  if (tls === undefined) return undefined;
  const left = SIDES.map((side) => [side, formerSide(cluster, side, members)] as const);
  if (left.every(([, side]) => side === undefined)) return undefined;
  const sides = left.map(([side, former]) => [side, { ...unchanged(tls, side), ...(former ?? { provider: "None" }) }]);
  return { ...cluster, spec: { ...cluster.spec, tls: { ...tls, ...Object.fromEntries(sides) } } };
}

/** The fields of a side that do not depend on the provider. */
function unchanged(tls: Tls, side: Side) {
  return side === "client" ? { verifyClients: (tls.client as Partial<Tls["client"]> | undefined)?.verifyClients } : {};
}

function formerSide(cluster: EtcdCluster, side: Side, members: Members): InUse[Side] {
  if (providerOf(cluster.spec, side) === "None") return undefined;
  const inUse = cluster.status?.tls?.[side]?.issuedBy ?? guessed(cluster, side, members);
  return inUse === undefined || isSameSource(cluster, side, inUse) ? undefined : inUse;
}

/** The source in use, derived from Secret names, when the status does not record it. */
function guessed(cluster: EtcdCluster, side: Side, { peers }: Members): InUse[Side] {
  const asked = secretNameOf(cluster, SHOWN_ON[side]);
  const other = peers.find(({ spec }) => ![undefined, asked].includes(spec.tls?.[side]?.secretName))?.spec.tls?.[side];
  return other && (keptSide(cluster, side, other, peers) as InUse[Side]);
}

/** Whether both sources have the same Secrets for members and the operator. */
function isSameSource(cluster: EtcdCluster, side: Side, inUse: NonNullable<InUse[Side]>): boolean {
  const other = { ...cluster, spec: { ...cluster.spec, tls: { ...cluster.spec.tls, [side]: inUse } as Tls } };
  const purposes = side === "peer" ? (["peer"] as const) : (["server", "operator"] as const);
  return purposes.every((purpose) => secretNameOf(cluster, purpose) === secretNameOf(other, purpose));
}

/**
 * The snapshot with `spec.tls` replaced by the TLS configuration that members still use. `undefined` when `spec.tls`
 * has not changed. Remembered for each snapshot.
 */
export const formerTls = remembered((snapshot): ClusterSnapshot | undefined => {
  const cluster = withFormerTls(snapshot.cluster, snapshot);
  if (cluster === undefined) return undefined;
  const { former, trustMap, handout } = snapshot.certificates ?? {};
  const seen = { ...former, ...(trustMap && { trustMap }), ...(handout && { handout }) };
  return { ...snapshot, cluster, certificates: seen };
});

/** The snapshot, of the requested and the one in use, in which the operator itself issues for this side. */
export function issuedTls(snapshot: ClusterSnapshot, side: Side): ClusterSnapshot {
  const former = formerTls(snapshot);
  return former !== undefined && providerOf(former.cluster.spec, side) === "Operator" ? former : snapshot;
}

/**
 * The Secret of an abandoned change that some members already use: spec.tls was changed again, so neither spec nor
 * status names it. `undefined` when there is none.
 */
export function betweenName(cluster: EtcdCluster, members: Members & Mounted, side: Side): string | undefined {
  const former = withFormerTls(cluster, members);
  const formerName = former && secretNameOf(former, SHOWN_ON[side]);
  if (formerName === undefined) return undefined;
  const known = [formerName, secretNameOf(cluster, SHOWN_ON[side])];
  return [...secretsInUse(members, side)].find((name) => !known.includes(name));
}

/** The observation of this Secret, among those that members use or are to use. `undefined` when it was not read. */
export function lookedAt(
  snapshot: ClusterSnapshot,
  side: Side,
  secretName: string,
): Observed<SeenCertificate> | undefined {
  const views = [snapshot, formerTls(snapshot)];
  const view = views.find((each) => each && secretNameOf(each.cluster, SHOWN_ON[side]) === secretName);
  if (view !== undefined) return view.certificates?.[SHOWN_ON[side]];
  const isBetween = betweenName(snapshot.cluster, snapshot, side) === secretName;
  return isBetween ? snapshot.certificates?.between?.[SHOWN_ON[side]] : undefined;
}

/** The certificate in this Secret, when it exists and was read. */
export function shownIn(snapshot: ClusterSnapshot, side: Side, secretName: string): SeenCertificate | undefined {
  const found = lookedAt(snapshot, side, secretName);
  return found?.is === "present" ? found.value : undefined;
}

/** The source of the certificates in use on each side, for `status.tls`. */
export function tlsInUse(snapshot: ClusterSnapshot): InUse {
  const sides = SIDES.map((side) => [side, sideInUse(snapshot, side)] as const).filter(([, is]) => is !== undefined);
  return Object.fromEntries(sides);
}

function sideInUse(snapshot: ClusterSnapshot, side: Side): InUse[Side] {
  const { cluster } = snapshot;
  const recorded = cluster.status?.tls?.[side]?.issuedBy;
  const names = secretsInUse(snapshot, side);
  // Removing spec.tls does not change what members have.
  if (providerOf(cluster.spec, side) === "None") return names.size === 0 ? undefined : recorded;
  const former = formerSide(cluster, side, snapshot);
  return former === undefined || hasArrived(snapshot, side, names) ? askedIn(cluster.spec, side) : former;
}

/**
 * Whether the provider change is complete: all members use the requested Secret, no other one, and accept the
 * operator's requested certificate.
 */
function hasArrived(snapshot: ClusterSnapshot, side: Side, names: ReadonlySet<string>): boolean {
  const { cluster } = snapshot;
  if ([...names].some((name) => name !== secretNameOf(cluster, SHOWN_ON[side]))) return false;
  if (side === "peer" || names.size === 0) return true;
  if (whyStranger(snapshot) !== undefined) return false;
  const shown = usable(snapshot, "operator");
  if (shown === undefined || !isInTime(snapshot, shown)) return false;
  return isUnasked(snapshot, "operator") || withoutBelief(snapshot, "client", shown).length === 0;
}

function askedIn(spec: EtcdClusterSpec, side: Side): InUse[Side] {
  const provider = providerOf(spec, side);
  const { secret, duration, renewBefore, extraNames } = (spec.tls?.[side] ?? {}) as Partial<Tls["client"]>;
  const asked = {
    provider,
    ...(provider === "CertManager" ? { certManager: { issuerRef: issuerOf(spec, side) } } : {}),
    ...(secret === undefined ? {} : { secret }),
    ...(duration === undefined ? {} : { duration }),
    ...(renewBefore === undefined ? {} : { renewBefore }),
    ...(extraNames === undefined || extraNames.length === 0 ? {} : { extraNames }),
  };
  return asked as InUse[Side];
}

/** Whether the operator uses its requested client Secret. */
export function showsAsked({ cluster }: ClusterSnapshot): boolean {
  return operatorSecretName(cluster) === askedOperatorSecretName(cluster);
}
