import { operatorCertificateName, peerAuthorityName, serverCertificateName } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer, EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { namesLacking, wantedNames } from "#certificates/names.ts";
import { AUTHORITY_OF, SIDES, secretNameOf } from "#cluster/certificates/purposes.ts";
import { mountedIn } from "#cluster/certificates/trusted.ts";
import { seen } from "#cluster/certificates/usable.ts";
import { ownSecretsNamed } from "#cluster/own-secrets.ts";
import { type ClusterSnapshot, remembered } from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";

// What if spec.tls is taken away from members that speak TLS?
//   It is refused (switched-tls.ts), and they go on as they are: so the operator has to connect as before, and to renew what they show. It goes
//   by what they have, and by what its own status says of Secrets, until spec.tls is there again.
// And if they are to go on without it? Until the last of them has restarted somebody speaks it, whatever its EtcdPeer says by then.
// And if it is taken away from a cluster that has not formed? Its first members are known by the URLs that stand in its identity: they form it as they
// were to, and go back when they run. Who was to issue is not on record by then, so the operator does.
// And if it names Secrets of the operator's own as what people bring? It is refused as well (own-secrets.ts), and the same is done.

type MemberSide = Omit<NonNullable<NonNullable<EtcdPeerSpec["tls"]>[Side]>, "trust">;
type Members = Pick<ClusterSnapshot, "peers" | "pods">;

/** The snapshot by which certificates are looked after: of spec.tls nothing is missing that members have. The same object when nothing is. */
export const keptTls = remembered((snapshot): ClusterSnapshot => {
  const cluster = withKeptTls(snapshot.cluster, snapshot);
  if (cluster === snapshot.cluster) return snapshot;
  const { tls } = cluster.spec;
  const { namespace, name } = cluster.metadata;
  const server = seen(snapshot, "server");
  if (tls === undefined || server === undefined || tls.client === snapshot.cluster.spec.tls?.client)
    return { ...snapshot, cluster };
  // By these names some clients may know members: they are kept, too.
  const extraNames = [...namesLacking(wantedNames(namespace, name), server.names)];
  const kept = { ...tls, client: { ...tls.client, extraNames } };
  return { ...snapshot, cluster: { ...cluster, spec: { ...cluster.spec, tls: kept } } };
});

/** The cluster with what its members have where the spec has no TLS any more, or is refused. The same object when nothing is missing. */
export function withKeptTls(cluster: EtcdCluster, members: Members): EtcdCluster {
  const { peers } = members;
  const has = (side: Side) => sideOfAny(cluster, members, side);
  const isRefused = (side: Side) =>
    providerOf(cluster.spec, side) === "None" || ownSecretsNamed(cluster, side).length > 0;
  const lost = SIDES.filter((side) => isRefused(side) && has(side) !== undefined);
  if (lost.length === 0) return bornWithTls(cluster);
  const sides = SIDES.map((side) => {
    const member = lost.includes(side) ? has(side) : undefined;
    return [
      side,
      member === undefined
        ? (cluster.spec.tls?.[side] ?? { provider: "None" })
        : keptSide(cluster, side, member, peers),
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

/** The cluster that forms with the TLS between members by whose URLs they are known. The same object when nothing is missing of that. */
function bornWithTls(cluster: EtcdCluster): EtcdCluster {
  const { spec, status } = cluster;
  const { peerScheme, initialMembers = [] } = status?.identity ?? {};
  const joined = initialMembers.filter((member) => member.joined).length;
  const isForming = joined < quorumOf(initialMembers.length);
  if (peerScheme !== "https" || !isForming || spec.tls === undefined || providerOf(spec, "peer") !== "None")
    return cluster;
  return { ...cluster, spec: { ...spec, tls: { ...spec.tls, peer: { ...spec.tls.peer, provider: "Operator" } } } };
}

/**
 * What one of the members has on this side: by its EtcdPeer, which also says to what this update may put it back, or by its pod, which runs until it has
 * been restarted.
 */
function sideOfAny(cluster: EtcdCluster, { peers, pods }: Members, side: Side): MemberSide | undefined {
  const before = peers.map((peer) => (mayBePutBack(cluster, peer) ? peer.spec.previous : undefined));
  const planned = [...peers.map(({ spec }) => spec), ...before].find((each) => each?.tls?.[side] !== undefined);
  if (planned !== undefined) return planned.tls?.[side];
  const mounted = peers.map(({ metadata }) => mountedIn(pods.get(metadata.name), side));
  const secretName = mounted.find((each) => each !== undefined);
  return secretName === undefined ? undefined : { secretName };
}

/** Whether the update under way may put the member back: nobody has been well with what it got. After an update it still says what it had before. */
function mayBePutBack({ status }: EtcdCluster, { spec }: EtcdPeer): boolean {
  const update = status?.update;
  if (update === undefined || (update.proven && update.stopped === undefined)) return false;
  return revisionOf(spec) === update.revision;
}

/** Where the status knows of an authority of the cluster's own, the operator issues; what anybody else does goes on without it. */
export function keptSide(
  cluster: EtcdCluster,
  side: Side,
  { secretName, ...rest }: MemberSide,
  peers: readonly EtcdPeer[],
) {
  const recorded = (cluster.status?.certificates ?? []).map(({ name }) => name);
  const authority = secretNameOf(cluster, AUTHORITY_OF[side]);
  const verify = "verifyClients" in rest ? { verifyClients: rest.verifyClients } : {};
  const inUse = cluster.status?.issuedBy?.[side];
  if (inUse !== undefined) return { ...inUse, ...verify };
  if (authority !== undefined && recorded.includes(authority)) return { provider: "Operator", ...verify };
  if (side === "peer") return { provider: "Secret", secret: { secretName } };
  const operatorClientSecretName = operatorSecretIn(cluster, secretName, recorded, peers);
  return { provider: "Secret", secret: { serverSecretName: secretName, operatorClientSecretName }, ...verify };
}

/** Which of the Secrets that the status knows is the operator's: none of the others. */
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
