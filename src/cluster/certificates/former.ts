import { askedOperatorSecretName, issuerOf, operatorSecretName, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster, EtcdClusterSpec, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { Observed } from "#base/observed.ts";
import { whyStranger } from "#cluster/auth/users.ts";
import { keptSide } from "#cluster/certificates/kept.ts";
import { SHOWN_ON, SIDES, secretNameOf } from "#cluster/certificates/purposes.ts";
import { secretsInUse, withoutBelief } from "#cluster/certificates/trusted.ts";
import { isInTime, isUnasked, usable } from "#cluster/certificates/usable.ts";
import { type ClusterSnapshot, remembered, type SeenCertificate } from "#cluster/snapshot.ts";

// Where do certificates come from while that is changed?
//   From two places, whose Secrets have different names. `status.issuedBy` says from where that comes which is in use; `spec.tls`, from where it
//   is to come. What is in use is looked after as if `spec.tls` had not changed, until nobody shows it any more.

type Members = Pick<ClusterSnapshot, "peers">;
type Mounted = Pick<ClusterSnapshot, "pods">;
type Tls = NonNullable<EtcdClusterSpec["tls"]>;
type InUse = NonNullable<EtcdClusterStatus["issuedBy"]>;

/** The cluster as it asked for what is in use, on the sides where it asks for something else by now; `undefined` when there is none. */
export function withFormerTls(cluster: EtcdCluster, members: Members): EtcdCluster | undefined {
  const { tls } = cluster.spec;
  if (tls === undefined) return undefined;
  const left = SIDES.map((side) => [side, formerSide(cluster, side, members)] as const);
  if (left.every(([, side]) => side === undefined)) return undefined;
  const sides = left.map(([side, former]) => [side, { ...unchanged(tls, side), ...(former ?? { provider: "None" }) }]);
  return { ...cluster, spec: { ...cluster.spec, tls: { ...tls, ...Object.fromEntries(sides) } } };
}

/** What does not belong to who issues. */
function unchanged(tls: Tls, side: Side) {
  return side === "client" ? { verifyClients: (tls.client as Partial<Tls["client"]> | undefined)?.verifyClients } : {};
}

function formerSide(cluster: EtcdCluster, side: Side, members: Members): InUse[Side] {
  if (providerOf(cluster.spec, side) === "None") return undefined;
  const inUse = cluster.status?.issuedBy?.[side] ?? guessed(cluster, side, members);
  return inUse === undefined || isSameSource(cluster, side, inUse) ? undefined : inUse;
}

/** By the names of Secrets, where nothing is on record yet. */
function guessed(cluster: EtcdCluster, side: Side, { peers }: Members): InUse[Side] {
  const asked = secretNameOf(cluster, SHOWN_ON[side]);
  const other = peers.find(({ spec }) => ![undefined, asked].includes(spec.tls?.[side]?.secretName))?.spec.tls?.[side];
  return other && (keptSide(cluster, side, other, peers) as InUse[Side]);
}

/** Whether both have the same Secrets for what members, and the operator, show. */
function isSameSource(cluster: EtcdCluster, side: Side, inUse: NonNullable<InUse[Side]>): boolean {
  const other = { ...cluster, spec: { ...cluster.spec, tls: { ...cluster.spec.tls, [side]: inUse } as Tls } };
  const purposes = side === "peer" ? (["peer"] as const) : (["server", "operator"] as const);
  return purposes.every((purpose) => secretNameOf(cluster, purpose) === secretNameOf(other, purpose));
}

/** The snapshot by which that is looked after which is in use, and is not what is asked for; the same object for the same snapshot. */
export const formerTls = remembered((snapshot): ClusterSnapshot | undefined => {
  const cluster = withFormerTls(snapshot.cluster, snapshot);
  if (cluster === undefined) return undefined;
  const { former, trustMap, handout } = snapshot.certificates ?? {};
  const seen = { ...former, ...(trustMap && { trustMap }), ...(handout && { handout }) };
  return { ...snapshot, cluster, certificates: seen };
});

/** Of what is asked for and of what is in use, that which the operator issues itself on this side. */
export function issuedTls(snapshot: ClusterSnapshot, side: Side): ClusterSnapshot {
  const former = formerTls(snapshot);
  return former !== undefined && providerOf(former.cluster.spec, side) === "Operator" ? former : snapshot;
}

/**
 * The Secret that some members show of what was asked for in between: on the way to it something else was asked for, so that neither the spec nor
 * the record knows of it. `undefined` when all show what is known.
 */
export function betweenName(cluster: EtcdCluster, members: Members & Mounted, side: Side): string | undefined {
  const former = withFormerTls(cluster, members);
  const formerName = former && secretNameOf(former, SHOWN_ON[side]);
  if (formerName === undefined) return undefined;
  const known = [formerName, secretNameOf(cluster, SHOWN_ON[side])];
  return [...secretsInUse(members, side)].find((name) => !known.includes(name));
}

/** What was seen of the Secret of this name, among those that members show or are to show; undefined when nobody has looked. */
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

/** The same, when it is there. */
export function shownIn(snapshot: ClusterSnapshot, side: Side, secretName: string): SeenCertificate | undefined {
  const found = lookedAt(snapshot, side, secretName);
  return found?.is === "present" ? found.value : undefined;
}

/** Where what is in use comes from, for the status. */
export function tlsInUse(snapshot: ClusterSnapshot): Pick<EtcdClusterStatus, "issuedBy"> {
  const sides = SIDES.map((side) => [side, sideInUse(snapshot, side)] as const).filter(([, is]) => is !== undefined);
  return sides.length === 0 ? {} : { issuedBy: Object.fromEntries(sides) };
}

function sideInUse(snapshot: ClusterSnapshot, side: Side): InUse[Side] {
  const { cluster } = snapshot;
  const recorded = cluster.status?.issuedBy?.[side];
  const names = secretsInUse(snapshot, side);
  // Whoever has taken spec.tls away changes nothing about what members have.
  if (providerOf(cluster.spec, side) === "None") return names.size === 0 ? undefined : recorded;
  const former = formerSide(cluster, side, snapshot);
  return former === undefined || hasArrived(snapshot, side, names) ? askedIn(cluster.spec, side) : former;
}

/** Whether members show what is asked for, all of them and nothing else, and take the operator by what it is to show. */
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

/** Whether the operator shows by now what the spec has for it. */
export function showsAsked({ cluster }: ClusterSnapshot): boolean {
  return operatorSecretName(cluster) === askedOperatorSecretName(cluster);
}
