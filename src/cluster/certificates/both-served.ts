import { CLIENT_SCHEME_ANNOTATION, REVISION_ANNOTATION, type Scheme } from "#api/names.ts";
import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { plaintextForMs, providerOf, servedBy } from "#api/tls.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isReady } from "#kube/pod.ts";

// How do clients go over to TLS, and back?
//   etcd serves both kinds at one port. First every member does, then clients have the time that spec.tls.client.plaintextFor gives them, then no
//   member serves the other kind any more. Each of it is a change of the template; when every member came to serve both stands in the status.
// And when it is taken back in between?
//   Nobody stops serving a kind while there are members that serve nothing else: then all of them serve both, and the time begins anew.

type MemberTls = NonNullable<MemberTemplate["tls"]>;
type ClientSide = Omit<NonNullable<MemberTls["client"]>, "verifyClients">;

/**
 * What members get towards clients.
 * @param issued what they are to show and to trust, if it is there @returns nothing, when they are to serve without TLS alone
 */
export function clientSide(snapshot: ClusterSnapshot, issued: ClientSide | undefined): ClientSide | undefined {
  const { cluster, peers } = snapshot;
  const wanted: Scheme = providerOf(cluster.spec, "client") === "None" ? "http" : "https";
  const isEnough = peers.every(({ spec }) => servedBy(spec).includes(wanted));
  const isDropping = peers.some(({ spec }) => !servedBy(spec).includes(other(wanted)));
  const isOneKind = peers.length === 0 || (isEnough && (isDropping || leftMs(snapshot) === 0));
  if (issued === undefined || (isOneKind && wanted === "http")) return undefined;
  return isOneKind ? issued : { ...issued, plaintext: true };
}

function other(scheme: Scheme): Scheme {
  return scheme === "http" ? "https" : "http";
}

/** How much longer clients of both kinds are served, in milliseconds; `undefined` while not every member serves both. */
export function leftMs(snapshot: ClusterSnapshot): number | undefined {
  const { cluster, takenAtMs } = snapshot;
  const since = cluster.status?.tls?.client?.bothServedSince;
  if (since === undefined || !snapshot.peers.every(({ spec }) => servesBoth(spec))) return undefined;
  return Math.max(0, Date.parse(since) + plaintextForMs(cluster.spec) - takenAtMs);
}

export function servesBoth(spec: EtcdPeer["spec"]): boolean {
  return servedBy(spec).length > 1;
}

/** By what clients are served by every member, and since when by both: for who asks them by what the cluster's status says. */
export function servedStatus(snapshot: ClusterSnapshot): Pick<EtcdClusterStatus, "tls"> {
  const { cluster, peers, pods, takenAtMs } = snapshot;
  const { tls } = cluster.status ?? {};
  if (peers.length === 0 || (cluster.spec.tls === undefined && tls === undefined))
    return tls === undefined ? {} : { tls };
  // Those without a pod tell by what their next one is made from.
  const isServed = peers.every((peer) => {
    const pod = pods.get(peer.metadata.name);
    return pod === undefined
      ? servedBy(peer.spec).includes("https")
      : pod.metadata.annotations?.[CLIENT_SCHEME_ANNOTATION] === "https";
  });
  const since = peers.every(({ spec }) => servesBoth(spec))
    ? (tls?.client?.bothServedSince ?? (peers.every((peer) => isUp(snapshot, peer)) ? rfc3339(takenAtMs) : undefined))
    : undefined;
  const client = {
    scheme: isServed ? "https" : "http",
    ...(since === undefined ? {} : { bothServedSince: since }),
  } as const;
  return { tls: { ...tls, client } };
}

function isUp({ pods }: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const pod = pods.get(metadata.name);
  return pod !== undefined && isReady(pod) && pod.metadata.annotations?.[REVISION_ANNOTATION] === revisionOf(spec);
}
