import { askedOperatorSecretName, issuerOf, operatorSecretName, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster, EtcdClusterSpec, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { Observed } from "#base/observed.ts";
import { whyStranger } from "#cluster/auth/users.ts";
import { type ClusterSnapshot, remembered, type SeenCertificate } from "#cluster/snapshot.ts";
import { membersRejecting, secretsInUse } from "#cluster-tls/check/trusted.ts";
import { SHOWN_ON, SIDES, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { isInTime, isUnverified, usable } from "#cluster-tls/read/usable.ts";
import { recordedSource } from "./effective.ts";

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
export function withPreviousTls(cluster: EtcdCluster, members: Members): EtcdCluster | undefined {
  const { tls } = cluster.spec;
  if (tls === undefined) return undefined;
  const left = SIDES.map((side) => [side, previousSide(cluster, side, members)] as const);
  if (left.every(([, side]) => side === undefined)) return undefined;
  const sides = left.map(([side, previous]) => [
    side,
    { ...unchanged(tls, side), ...(previous ?? { provider: "None" }) },
  ]);
  return { ...cluster, spec: { ...cluster.spec, tls: { ...tls, ...Object.fromEntries(sides) } } };
}

/** The fields of a side that do not depend on the provider. */
function unchanged(tls: Tls, side: Side) {
  const { clientCertificates } = (tls.client as Partial<Tls["client"]> | undefined) ?? {};
  return side === "client" ? { clientCertificates } : {};
}

function previousSide(cluster: EtcdCluster, side: Side, members: Members): InUse[Side] {
  if (providerOf(cluster.spec, side) === "None") return undefined;
  const inUse = cluster.status?.tls?.[side]?.issuedBy ?? sourceFromNames(cluster, side, members);
  return inUse === undefined || isSameSource(cluster, side, inUse) ? undefined : inUse;
}

/** The source in use, derived from Secret names, when the status does not record it. */
function sourceFromNames(cluster: EtcdCluster, side: Side, { peers }: Members): InUse[Side] {
  const asked = secretNameOf(cluster, SHOWN_ON[side]);
  const other = peers.find(({ spec }) => ![undefined, asked].includes(spec.tls?.[side]?.secretName))?.spec.tls?.[side];
  return other && (recordedSource(cluster, side, other, peers) as InUse[Side]);
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
export const previousTls = remembered((snapshot): ClusterSnapshot | undefined => {
  const cluster = withPreviousTls(snapshot.cluster, snapshot);
  if (cluster === undefined) return undefined;
  const { previous, trustMap, clientSecret } = snapshot.certificates ?? {};
  const seen = { ...previous, ...(trustMap && { trustMap }), ...(clientSecret && { clientSecret }) };
  return { ...snapshot, cluster, certificates: seen };
});

/** The snapshot, of the requested and the one in use, in which the operator itself issues for this side. */
export function issuedTls(snapshot: ClusterSnapshot, side: Side): ClusterSnapshot {
  const previous = previousTls(snapshot);
  return previous !== undefined && providerOf(previous.cluster.spec, side) === "Operator" ? previous : snapshot;
}

/**
 * The Secret of an abandoned change that some members already use: spec.tls was changed again, so neither spec nor
 * status names it. `undefined` when there is none.
 */
export function abandonedName(cluster: EtcdCluster, members: Members & Mounted, side: Side): string | undefined {
  const previous = withPreviousTls(cluster, members);
  const previousName = previous && secretNameOf(previous, SHOWN_ON[side]);
  if (previousName === undefined) return undefined;
  const known = [previousName, secretNameOf(cluster, SHOWN_ON[side])];
  return [...secretsInUse(members, side)].find((name) => !known.includes(name));
}

/** The observation of this Secret, among those that members use or are to use. `undefined` when it was not read. */
export function observedSecret(
  snapshot: ClusterSnapshot,
  side: Side,
  secretName: string,
): Observed<SeenCertificate> | undefined {
  const views = [snapshot, previousTls(snapshot)];
  const view = views.find((each) => each && secretNameOf(each.cluster, SHOWN_ON[side]) === secretName);
  if (view !== undefined) return view.certificates?.[SHOWN_ON[side]];
  const isAbandoned = abandonedName(snapshot.cluster, snapshot, side) === secretName;
  return isAbandoned ? snapshot.certificates?.abandoned?.[SHOWN_ON[side]] : undefined;
}

/** The certificate in this Secret, when it exists and was read. */
export function certificateIn(snapshot: ClusterSnapshot, side: Side, secretName: string): SeenCertificate | undefined {
  const found = observedSecret(snapshot, side, secretName);
  return found?.is === "present" ? found.value : undefined;
}

/** The source of the certificates in use on each side, for `status.tls`. */
export function sourcesInUse(snapshot: ClusterSnapshot): InUse {
  const sides = SIDES.map((side) => [side, sourceInUse(snapshot, side)] as const);
  return Object.fromEntries(sides);
}

function sourceInUse(snapshot: ClusterSnapshot, side: Side): InUse[Side] {
  const { cluster } = snapshot;
  const recorded = cluster.status?.tls?.[side]?.issuedBy;
  const names = secretsInUse(snapshot, side);
  // Members keep their certificates when spec.tls is removed, so the recorded source still applies.
  if (providerOf(cluster.spec, side) === "None") return names.size === 0 ? undefined : recorded;
  const previous = previousSide(cluster, side, snapshot);
  return previous === undefined || isProviderChanged(snapshot, side, names)
    ? requestedSource(cluster.spec, side)
    : previous;
}

/**
 * Whether the provider change is complete: all members use the requested Secret, no other one, and accept the
 * operator's requested certificate.
 */
function isProviderChanged(snapshot: ClusterSnapshot, side: Side, names: ReadonlySet<string>): boolean {
  const { cluster } = snapshot;
  if ([...names].some((name) => name !== secretNameOf(cluster, SHOWN_ON[side]))) return false;
  if (side === "peer" || names.size === 0) return true;
  if (whyStranger(snapshot) !== undefined) return false;
  const shown = usable(snapshot, "operator");
  if (shown === undefined || !isInTime(snapshot, shown)) return false;
  return isUnverified(snapshot, "operator") || membersRejecting(snapshot, "client", shown).length === 0;
}

function requestedSource(spec: EtcdClusterSpec, side: Side): InUse[Side] {
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
export function usesRequestedCertificate({ cluster }: ClusterSnapshot): boolean {
  return operatorSecretName(cluster) === askedOperatorSecretName(cluster);
}
