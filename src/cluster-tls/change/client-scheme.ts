import { CLIENT_SCHEME_ANNOTATION, REVISION_ANNOTATION, type Scheme } from "#api/names.ts";
import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { plaintextForMs, providerOf, servedBy } from "#api/tls.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isReady } from "#kube/pod.ts";

// How do clients move to TLS, and back?
//   etcd serves http and https on one port. First every member serves both. Then clients have the time of
//   spec.tls.client.plaintextFor to move. Then no member serves the old scheme.
//   Each stage is a change of the member template. The status records since when every member serves both.
// And if the change is reverted in between?
//   A scheme is not dropped while some members serve only that one. Then all serve both again, and the time starts
//   over.

type MemberTls = NonNullable<MemberTemplate["tls"]>;
type ServedStatus = Pick<NonNullable<NonNullable<EtcdClusterStatus["tls"]>["client"]>, "scheme" | "bothServedSince">;
type ClientSide = Omit<NonNullable<MemberTls["client"]>, "verifyClients">;

/**
 * The client side of the TLS template of members.
 * @param issued the certificate and trust to serve with, when they exist
 * @returns `undefined` when members serve http only
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

/**
 * How much longer members serve both http and https, in milliseconds. `undefined` while not every member serves both.
 */
export function leftMs(snapshot: ClusterSnapshot): number | undefined {
  const { cluster, takenAtMs } = snapshot;
  const since = cluster.status?.tls?.client?.bothServedSince;
  if (since === undefined || !snapshot.peers.every(({ spec }) => servesBoth(spec))) return undefined;
  return Math.max(0, Date.parse(since) + plaintextForMs(cluster.spec) - takenAtMs);
}

export function servesBoth(spec: EtcdPeer["spec"]): boolean {
  return servedBy(spec).length > 1;
}

/** The scheme that every member serves, and since when all serve both: for readers of the cluster's status. */
export function servedStatus(snapshot: ClusterSnapshot): ServedStatus {
  const { cluster, peers, pods, takenAtMs } = snapshot;
  const { scheme, bothServedSince } = cluster.status?.tls?.client ?? {};
  if (peers.length === 0 || (cluster.spec.tls === undefined && scheme === undefined))
    return { ...(scheme && { scheme }), ...(bothServedSince && { bothServedSince }) };
  // A member without a pod counts by the template of its next pod.
  const isServed = peers.every((peer) => {
    const pod = pods.get(peer.metadata.name);
    return pod === undefined
      ? servedBy(peer.spec).includes("https")
      : pod.metadata.annotations?.[CLIENT_SCHEME_ANNOTATION] === "https";
  });
  const since = peers.every(({ spec }) => servesBoth(spec))
    ? (bothServedSince ?? (peers.every((peer) => isUp(snapshot, peer)) ? rfc3339(takenAtMs) : undefined))
    : undefined;
  return { scheme: isServed ? "https" : "http", ...(since === undefined ? {} : { bothServedSince: since }) };
}

function isUp({ pods }: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const pod = pods.get(metadata.name);
  return pod !== undefined && isReady(pod) && pod.metadata.annotations?.[REVISION_ANNOTATION] === revisionOf(spec);
}
