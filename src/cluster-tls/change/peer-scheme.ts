import { PEER_SCHEME_ANNOTATION, PEER_TRUST_ANNOTATION, type Scheme } from "#api/names.ts";
import type { MemberTemplate } from "#api/revision.ts";
import { providerOf, reachedBy } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { type KnownMember, knownMembers, memberNamed } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf, peerNamed, remembered, urlOf } from "#cluster/snapshot.ts";
import { mountedIn } from "#cluster-tls/check/trusted.ts";
import type { Pod } from "#kube/kinds.ts";
import { requestedScheme, type TlsChange } from "./change.ts";

// How do running members move to peer TLS, and back?
//   On: AcceptBoth: every member gets a peer certificate and trust, and keeps its http URL: from then on it can dial both
//   schemes. UseNew: one member at a time changes its URL: etcd gets the new peer URL, and the member restarts with an
//   https listener. There is nothing to drop.
//   Off: members can dial both already. UseNew: every member returns to an http URL. DropOld: the certificates are
//   removed.
// What if a member restarts in between, or its URL has changed and its listener has not?
//   It cannot be dialled, but it dials the others, and etcd answers over those connections: it still works as follower
//   and leader. Two such members could not reach each other, so there is never more than one. Tested with etcd 3.5, 3.6
//   and 3.7: test/etcd/tls-switch-peers.test.ts.

type MemberTls = NonNullable<MemberTemplate["tls"]>;
type PeerSide = NonNullable<MemberTls["peer"]>;

const LIST_UNKNOWN = "etcd's member list is not known";

/** The scheme of the pod's peer listener. */
export function listensBy(pod: Pod): Scheme {
  return pod.metadata.annotations?.[PEER_SCHEME_ANNOTATION] === "https" ? "https" : "http";
}

/**
 * The scheme of the member's URL in etcd's member list. `undefined` when it has several URLs, or one that the operator
 * did not set.
 */
export function listedBy(snapshot: ClusterSnapshot, { name, peerUrls }: KnownMember): Scheme | undefined {
  if (peerUrls.length !== 1) return undefined;
  return (["http", "https"] as const).find((scheme) => peerUrls[0] === urlOf(snapshot, name, scheme));
}

/** The peer URL that etcd has to list for the member, when it lists a different URL. */
export function dueUrl(snapshot: ClusterSnapshot, { spec, metadata }: EtcdPeer): string | undefined {
  const member = memberNamed(snapshot, metadata.name);
  if (member === undefined || member.isLearner || member.id !== spec.memberID) return undefined;
  const listed = listedBy(snapshot, member);
  const wanted = reachedBy(spec);
  return listed === undefined || listed === wanted ? undefined : urlOf(snapshot, metadata.name, wanted);
}

/** Members that are in the middle of a scheme change: their EtcdPeer, pod and etcd's member list differ. By name. */
export function membersChangingScheme(snapshot: ClusterSnapshot): readonly string[] {
  return snapshot.peers
    .filter(({ metadata: { name }, spec }) => {
      const member = memberNamed(snapshot, name);
      const pod = snapshot.pods.get(name);
      const listed = member && listedBy(snapshot, member);
      const schemes = [reachedBy(spec), pod && listensBy(pod), listed].filter((each) => each !== undefined);
      return new Set(schemes).size > 1;
    })
    .map(({ metadata }) => metadata.name);
}

/**
 * Members that cannot dial over TLS: their EtcdPeer or pod has no peer certificate, or the cluster has no EtcdPeer for
 * them. By name.
 */
export function membersWithoutCertificate(snapshot: ClusterSnapshot): readonly string[] {
  const bare = snapshot.peers.filter(({ metadata, spec }) => {
    const pod = snapshot.pods.get(metadata.name);
    return spec.tls?.peer === undefined || (pod && pod.metadata.annotations?.[PEER_TRUST_ANNOTATION] === undefined);
  });
  const unmanaged = knownMembers(snapshot).filter(({ name }) => peerNamed(snapshot, name) === undefined);
  return [...bare.map(({ metadata }) => metadata.name), ...unmanaged.map(({ name }) => name)];
}

/** The change of the scheme between members, until they have the one that `spec.tls` requests. */
export const peerSchemeChange = remembered((snapshot): TlsChange | undefined => {
  const to = requestedScheme(snapshot, "peer");
  if (to === undefined) return undefined;
  return to === "http" ? turningOff(snapshot) : turningOn(snapshot);
});

function turningOn(snapshot: ClusterSnapshot): TlsChange | undefined {
  const { peers } = snapshot;
  const on = { kind: "Scheme", from: "http", to: "https" } as const;
  const http = peers.filter(({ spec }) => reachedBy(spec) === "http");
  if (http.length < peers.length) {
    const changing = [...new Set([...http.map(({ metadata }) => metadata.name), ...membersChangingScheme(snapshot)])];
    return changing.length === 0
      ? undefined
      : { ...on, round: "UseNew", waitsFor: `still to restart with an https peer URL: ${changing.join(", ")}` };
  }
  const bare = membersWithoutCertificate(snapshot);
  if (bare.length > 0) {
    const waitsFor = `peer URLs change to https once ${bare.join(", ")} can dial the others over TLS`;
    return { ...on, round: "AcceptBoth", waitsFor };
  }
  const joining = peers.filter(({ spec }) => spec.bootstrap !== undefined).map(({ metadata }) => metadata.name);
  if (joining.length > 0)
    return {
      ...on,
      round: "AcceptBoth",
      waitsFor: `peer URLs change to https once these members have joined: ${joining.join(", ")}`,
    };
  return { ...on, round: "UseNew", waitsFor: "members restart with https peer URLs" };
}

function turningOff(snapshot: ClusterSnapshot): TlsChange | undefined {
  const off = { kind: "Scheme", from: "https", to: "http" } as const;
  const kept = keptCertificates(snapshot);
  if (kept !== undefined) return { ...off, ...kept };
  const left = snapshot.peers.filter(({ metadata, spec }) => {
    return spec.tls?.peer !== undefined || mountedIn(snapshot.pods.get(metadata.name), "peer") !== undefined;
  });
  const names = left.map(({ metadata }) => metadata.name);
  if (names.length === 0) return undefined;
  return { ...off, round: "DropOld", waitsFor: `still to restart without certificates: ${names.join(", ")}` };
}

/**
 * The peer side of the TLS template of members.
 * @param issued the certificate and trust to use, when they exist
 * @returns `undefined` when members are to have no peer TLS
 */
export function peerSide(
  snapshot: ClusterSnapshot,
  issued: Omit<PeerSide, "scheme"> | undefined,
): PeerSide | undefined {
  const { cluster, peers } = snapshot;
  if (issued === undefined || peers.length === 0) return issued;
  const change = peerSchemeChange(snapshot);
  if (change?.to === "http")
    return keptCertificates(snapshot) === undefined ? undefined : { ...issued, scheme: "http" };
  if (providerOf(cluster.spec, "peer") === "None") return undefined;
  return change?.round === "AcceptBoth" ? { ...issued, scheme: "http" } : issued;
}

/**
 * The part of turning TLS off in which members keep their certificates: some member is reached by https, or may be.
 * `undefined` when none is, or some member has no certificate already.
 */
function keptCertificates(snapshot: ClusterSnapshot): Pick<TlsChange, "round" | "waitsFor"> | undefined {
  const { peers, pods, members } = snapshot;
  const restarting = { round: "UseNew", waitsFor: "members restart with http peer URLs" } as const;
  if (peers.some(({ spec }) => reachedBy(spec) === "https")) return restarting;
  if (peers.some(({ spec }) => spec.tls?.peer === undefined)) return undefined;
  if ([...pods.values()].some((pod) => listensBy(pod) === "https")) return restarting;
  if (members.is !== "present") return { round: "DropOld", waitsFor: LIST_UNKNOWN };
  return knownMembers(snapshot).every(isListedByHttp(snapshot)) ? undefined : restarting;
}

function isListedByHttp(snapshot: ClusterSnapshot) {
  return (member: KnownMember) =>
    peerNamed(snapshot, member.name) === undefined || listedBy(snapshot, member) !== "https";
}

/** Why the member must not change to this scheme now, as a sentence. `undefined` when it may. */
export function whySchemeMustStay(snapshot: ClusterSnapshot, peer: EtcdPeer, scheme: Scheme): string | undefined {
  const { name } = peer.metadata;
  if (reachedBy(peer.spec) === scheme) return undefined;
  if (peer.spec.bootstrap !== undefined)
    return `${name} has not joined yet, and etcd lists it with ${reachedBy(peer.spec)}`;
  const member = memberNamed(snapshot, name);
  if (member?.isLearner === true) return `${name} is a learner: a new peer URL would make etcd count it as a voter`;
  const other = membersChangingScheme(snapshot).find((each) => each !== name);
  if (other !== undefined) return `${other} does not listen at the peer URL that etcd lists yet`;
  const [bare] = membersWithoutCertificate(snapshot);
  if (scheme === "https" && bare !== undefined) return `${bare} could not dial other members over TLS`;
  // A rollback returns to the scheme that etcd lists, or listed a moment ago, and no other member has changed since.
  const isRolledBack = peer.spec.previous !== undefined && reachedBy(peer.spec.previous) === scheme;
  const isAlone = knownMembers(snapshot).length === 1;
  return snapshot.members.is === "present" || isRolledBack || isAlone ? undefined : LIST_UNKNOWN;
}

/** The template, with the member's current scheme while it must not change. */
export function withAllowedScheme(snapshot: ClusterSnapshot, peer: EtcdPeer, template: MemberTemplate): MemberTemplate {
  if (whySchemeMustStay(snapshot, peer, reachedBy(template)) === undefined) return template;
  return withPeerScheme(template, reachedBy(peer.spec), peer.spec.tls?.peer);
}

/**
 * The template with this peer scheme.
 * @param pair the peer certificate of a member that loses its certificate, but is still reached over TLS
 */
export function withPeerScheme(template: MemberTemplate, scheme: Scheme, pair?: PeerSide): MemberTemplate {
  const { peer = pair, ...rest } = template.tls ?? {};
  if (reachedBy(template) === scheme || peer === undefined) return template;
  const { scheme: _, ...shown } = peer;
  return { ...template, tls: { ...rest, peer: scheme === "https" ? shown : { ...shown, scheme } } };
}

/** The scheme of a member that is recreated: as etcd lists it, or as its claim records, or as the identity records. */
export function recordedScheme(snapshot: ClusterSnapshot, name: string): Scheme {
  const member = memberNamed(snapshot, name);
  const claim = snapshot.claims.find(({ metadata }) => metadata.name === name);
  const listed = member && listedBy(snapshot, member);
  if (listed !== undefined) return listed;
  if (claim !== undefined) return claim.metadata.annotations?.[PEER_SCHEME_ANNOTATION] === "https" ? "https" : "http";
  return identityOf(snapshot)?.peerScheme ?? "http";
}
