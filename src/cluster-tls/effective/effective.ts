import { operatorCertificateName, peerAuthorityName, serverCertificateName } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer, EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { namesLacking, wantedNames } from "#certificates/names.ts";
import { type ClusterSnapshot, remembered } from "#cluster/snapshot.ts";
import { ownSecretsNamed } from "#cluster-tls/check/own-secrets.ts";
import { mountedIn } from "#cluster-tls/check/trusted.ts";
import { AUTHORITY_OF, SIDES, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { seen } from "#cluster-tls/read/usable.ts";
import { quorumOf } from "#etcd/quorum.ts";

// What if spec.tls is removed while members use TLS?
//   The removal is refused (switched-tls.ts) and members keep their TLS. So the operator still connects with TLS and
//   renews certificates. Until spec.tls is back, it derives the configuration from members and from the Secrets in its
//   own status.
// And if the provider is set to None?
//   TLS is still managed until the last member has restarted without it, even after its EtcdPeer has changed.
// And if TLS is turned off before the cluster has formed?
//   The first members form with the peer URLs of the recorded identity, and turn TLS off once they run. The issuer is
//   not recorded by then, so the operator issues.
// And if spec.tls names Secrets of the operator's own as user-provided?
//   That is refused as well (own-secrets.ts), and members keep their TLS in the same way.

type MemberSide = Omit<NonNullable<NonNullable<EtcdPeerSpec["tls"]>[Side]>, "trust">;
type Members = Pick<ClusterSnapshot, "peers" | "pods">;

/**
 * The snapshot by which certificates are managed: spec.tls completed with the TLS that members still have. The same
 * object when nothing is missing.
 */
export const effectiveTls = remembered((snapshot): ClusterSnapshot => {
  const cluster = withEffectiveTls(snapshot.cluster, snapshot);
  if (cluster === snapshot.cluster) return snapshot;
  const { tls } = cluster.spec;
  const { namespace, name } = cluster.metadata;
  const server = seen(snapshot, "server");
  if (tls === undefined || server === undefined || tls.client === snapshot.cluster.spec.tls?.client)
    return { ...snapshot, cluster };
  // Some clients may connect by these names, so they are kept.
  const extraNames = [...namesLacking(wantedNames(namespace, name), server.names)];
  const kept = { ...tls, client: { ...tls.client, extraNames } };
  return { ...snapshot, cluster: { ...cluster, spec: { ...cluster.spec, tls: kept } } };
});

/**
 * The cluster with the TLS of its members, where spec.tls is missing or refused. The same object when nothing is
 * missing.
 */
export function withEffectiveTls(cluster: EtcdCluster, members: Members): EtcdCluster {
  const { peers } = members;
  const has = (side: Side) => sideOfAny(cluster, members, side);
  const isRefused = (side: Side) =>
    providerOf(cluster.spec, side) === "None" || ownSecretsNamed(cluster, side).length > 0;
  const lost = SIDES.filter((side) => isRefused(side) && has(side) !== undefined);
  if (lost.length === 0) return formingWithTls(cluster);
  const sides = SIDES.map((side) => {
    const member = lost.includes(side) ? has(side) : undefined;
    return [
      side,
      member === undefined
        ? (cluster.spec.tls?.[side] ?? { provider: "None" })
        : recordedSource(cluster, side, member, peers),
    ];
  });
  const { minVersion, cipherSuites } = cluster.spec.tls ?? peers.find(({ spec }) => spec.tls)?.spec.tls ?? {};
  const tls = {
    ...Object.fromEntries(sides),
    ...(minVersion === undefined ? {} : { minVersion }),
    ...(cipherSuites === undefined ? {} : { cipherSuites }),
  };
  return { ...cluster, spec: { ...cluster.spec, tls } };
}

/** The cluster with peer TLS while it forms with https peer URLs. The same object when spec.tls already has that. */
function formingWithTls(cluster: EtcdCluster): EtcdCluster {
  const { spec, status } = cluster;
  const { peerScheme, initialMembers = [] } = status?.identity ?? {};
  const joined = initialMembers.filter((member) => member.joined).length;
  const isForming = joined < quorumOf(initialMembers.length);
  if (peerScheme !== "https" || !isForming || spec.tls === undefined || providerOf(spec, "peer") !== "None")
    return cluster;
  return { ...cluster, spec: { ...spec, tls: { ...spec.tls, peer: { ...spec.tls.peer, provider: "Operator" } } } };
}

/**
 * The TLS of some member on this side. It is that of its EtcdPeer, of the template that the current update may roll
 * back to, or of its running pod.
 */
function sideOfAny(cluster: EtcdCluster, { peers, pods }: Members, side: Side): MemberSide | undefined {
  const before = peers.map((peer) => (mayBeRolledBack(cluster, peer) ? peer.spec.previous : undefined));
  const planned = [...peers.map(({ spec }) => spec), ...before].find((each) => each?.tls?.[side] !== undefined);
  if (planned !== undefined) return planned.tls?.[side];
  const mounted = peers.map(({ metadata }) => mountedIn(pods.get(metadata.name), side));
  const secretName = mounted.find((each) => each !== undefined);
  return secretName === undefined ? undefined : { secretName };
}

/**
 * Whether the current update may roll the member back: the update is not proven, or it was stopped. After an update,
 * `previous` still holds the old template.
 */
function mayBeRolledBack({ status }: EtcdCluster, { spec }: EtcdPeer): boolean {
  const update = status?.update;
  if (update === undefined || (update.proven && update.stopped === undefined)) return false;
  return revisionOf(spec) === update.revision;
}

/**
 * The provider of a side, derived from status. The operator issues where the status records a CA of the cluster; any
 * other certificate counts as user-provided.
 */
export function recordedSource(
  cluster: EtcdCluster,
  side: Side,
  { secretName, ...rest }: MemberSide,
  peers: readonly EtcdPeer[],
) {
  const recorded = (cluster.status?.tls?.certificates ?? []).map(({ name }) => name);
  const authority = secretNameOf(cluster, AUTHORITY_OF[side]);
  const verify = "clientCertificates" in rest ? { clientCertificates: rest.clientCertificates } : {};
  const inUse = cluster.status?.tls?.[side]?.issuedBy;
  if (inUse !== undefined) return { ...inUse, ...verify };
  if (authority !== undefined && recorded.includes(authority)) return { provider: "Operator", ...verify };
  if (side === "peer") return { provider: "Secret", secret: { name: secretName } };
  const operator = { name: operatorSecretIn(cluster, secretName, recorded, peers) };
  return { provider: "Secret", secret: { server: { name: secretName }, operator }, ...verify };
}

/** The operator's client Secret, among the Secrets in status: the one that no member uses. */
function operatorSecretIn(
  { metadata: { name } }: EtcdCluster,
  server: string,
  recorded: readonly string[],
  peers: readonly EtcdPeer[],
): string {
  if (server === serverCertificateName(name)) return operatorCertificateName(name);
  const shown = new Set([server, peerAuthorityName(name), ...peers.map(({ spec }) => spec.tls?.peer?.secretName)]);
  return recorded.find((each) => !shown.has(each)) ?? server;
}
