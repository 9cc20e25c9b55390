import { CLIENT_SCHEME_ANNOTATION, REVISION_ANNOTATION, type Scheme } from "#api/names.ts";
import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { plaintextForMs, providerOf, servedBy } from "#api/tls.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { type ClusterSnapshot, remembered } from "#cluster/snapshot.ts";
import { isReady } from "#kube/pod.ts";
import { requestedScheme, type TlsChange } from "./change.ts";

// How do clients move to TLS, and back?
//   etcd serves http and https on one port. AcceptBoth: every member gets a template with both. UseNew: clients have the
//   time of spec.tls.client.plaintextFor to move. DropOld: members no longer serve the old scheme.
//   The status records since when every member serves both.
// And if the change is reverted in between?
//   A scheme is not dropped while some members serve only that one. Then all serve both again, and the time starts
//   over.

type MemberTls = NonNullable<MemberTemplate["tls"]>;
type ServedStatus = Pick<NonNullable<NonNullable<EtcdClusterStatus["tls"]>["client"]>, "scheme" | "bothServedSince">;
type ClientSide = Omit<NonNullable<MemberTls["client"]>, "clientCertificates">;

/** The change of the scheme for clients, until they serve only the one that `spec.tls` requests. */
export const clientSchemeChange = remembered((snapshot): TlsChange | undefined => {
  const { peers, pods, takenAtMs } = snapshot;
  const to = requestedScheme(snapshot, "client");
  if (to === undefined) return undefined;
  const from = to === "http" ? "https" : "http";
  const change = { kind: "Scheme", from, to } as const;
  const isServed = peers.every(({ spec }) => servedBy(spec).includes(to));
  const isDropping = peers.some(({ spec }) => !servedBy(spec).includes(from));
  const leftMs = isDropping ? 0 : remainingMs(snapshot);
  if (!isServed || leftMs === undefined)
    return {
      ...change,
      round: "AcceptBoth",
      waitsFor: "members are being updated to serve clients both with and without TLS",
    };
  if (leftMs > 0) {
    const kind = to === "http" ? "with" : "without";
    const until = rfc3339(takenAtMs + leftMs);
    return {
      ...change,
      round: "UseNew",
      waitsFor: `clients ${kind} TLS are served until ${until} (spec.tls.client.plaintextFor)`,
    };
  }
  const left = peers.filter((peer) => servedBy(peer.spec).includes(from) || servedByPod(pods, peer) === from);
  const names = left.map(({ metadata }) => metadata.name);
  if (names.length === 0) return undefined;
  return { ...change, round: "DropOld", waitsFor: `still to restart without ${from} for clients: ${names.join(", ")}` };
});

/** The scheme that the member's pod serves; https when it serves both. Without a pod, that of its next pod. */
function servedByPod(pods: ClusterSnapshot["pods"], { metadata, spec }: EtcdPeer): Scheme {
  const pod = pods.get(metadata.name);
  if (pod === undefined) return servedBy(spec).includes("https") ? "https" : "http";
  return pod.metadata.annotations?.[CLIENT_SCHEME_ANNOTATION] === "https" ? "https" : "http";
}

/**
 * The client side of the TLS template of members.
 * @param issued the certificate and trust to serve with, when they exist
 * @returns `undefined` when members serve http only
 */
export function clientSide(snapshot: ClusterSnapshot, issued: ClientSide | undefined): ClientSide | undefined {
  const { round } = clientSchemeChange(snapshot) ?? {};
  if (issued !== undefined && (round === "AcceptBoth" || round === "UseNew")) return { ...issued, plaintext: true };
  return providerOf(snapshot.cluster.spec, "client") === "None" ? undefined : issued;
}

/**
 * How much longer members serve both http and https, in milliseconds. `undefined` while not every member serves both.
 */
export function remainingMs(snapshot: ClusterSnapshot): number | undefined {
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
  const isServed = peers.every((peer) => servedByPod(pods, peer) === "https");
  const since = peers.every(({ spec }) => servesBoth(spec))
    ? (bothServedSince ?? (peers.every((peer) => isUp(snapshot, peer)) ? rfc3339(takenAtMs) : undefined))
    : undefined;
  return { scheme: isServed ? "https" : "http", ...(since === undefined ? {} : { bothServedSince: since }) };
}

function isUp({ pods }: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const pod = pods.get(metadata.name);
  return pod !== undefined && isReady(pod) && pod.metadata.annotations?.[REVISION_ANNOTATION] === revisionOf(spec);
}
