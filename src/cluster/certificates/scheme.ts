import { PEER_SCHEME_ANNOTATION, PEER_TRUST_ANNOTATION, type Scheme } from "#api/names.ts";
import type { MemberTemplate } from "#api/revision.ts";
import { providerOf, reachedBy } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { type KnownMember, knownMembers, memberNamed } from "#cluster/members.ts";
import { type ClusterSnapshot, identityOf, peerNamed, urlOf } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";

// How do members that run go over to TLS between them, and back?
//   First every member gets what it shows and whom it trusts, and is reached as before: from then on each of them can dial both kinds. Then one
//   after another is reached otherwise: etcd is told its new URL, and it restarts with a listener for it. Back the same way: first nobody is
//   reached over TLS any more, then nobody has a certificate. Each is a change of the template, which the roll carries out.
// What if one is restarted in between, or its URL changed and not its listener?
//   It cannot be dialled, and dials the others, over which etcd answers: it takes part, as follower and as leader. Two such members do not reach
//   each other, so there is never more than one. All seen on etcd 3.5, 3.6 and 3.7: test/etcd/tls-switch-peers.test.ts.
// How far has it come?
//   That is read off EtcdPeers, pods and etcd's own list, so that it goes on after whatever comes between, and turns back when it is taken back.

type MemberTls = NonNullable<MemberTemplate["tls"]>;
type PeerSide = NonNullable<MemberTls["peer"]>;

/** How the pod listens for other members. */
export function listensBy(pod: Pod): Scheme {
  return pod.metadata.annotations?.[PEER_SCHEME_ANNOTATION] === "https" ? "https" : "http";
}

/** How the others reach the member, by etcd's list; `undefined` when that does not tell, or somebody has put it elsewhere. */
export function listedBy(snapshot: ClusterSnapshot, { name, peerUrls }: KnownMember): Scheme | undefined {
  if (peerUrls.length !== 1) return undefined;
  return (["http", "https"] as const).find((scheme) => peerUrls[0] === urlOf(snapshot, name, scheme));
}

/** What etcd is to be told of where the member is reached, if that is something else than it lists. */
export function dueUrl(snapshot: ClusterSnapshot, { spec, metadata }: EtcdPeer): string | undefined {
  const member = memberNamed(snapshot, metadata.name);
  if (member === undefined || member.isLearner || member.id !== spec.memberID) return undefined;
  const listed = listedBy(snapshot, member);
  const wanted = reachedBy(spec);
  return listed === undefined || listed === wanted ? undefined : urlOf(snapshot, metadata.name, wanted);
}

/** Members of which not all say the same of how they are reached: their EtcdPeers, their pods, and etcd. By name. */
export function halfway(snapshot: ClusterSnapshot): readonly string[] {
  return snapshot.peers
    .filter(({ metadata: { name }, spec }) => {
      const member = memberNamed(snapshot, name);
      const pod = snapshot.pods.get(name);
      const listed = member && listedBy(snapshot, member);
      const told = [reachedBy(spec), pod && listensBy(pod), listed].filter((each) => each !== undefined);
      return new Set(told).size > 1;
    })
    .map(({ metadata }) => metadata.name);
}

/** Members that could dial nobody over TLS: they, or their pods, have nothing that they could show; or they are somebody else's. By name. */
export function withoutPair(snapshot: ClusterSnapshot): readonly string[] {
  const bare = snapshot.peers.filter(({ metadata, spec }) => {
    const pod = snapshot.pods.get(metadata.name);
    return spec.tls?.peer === undefined || (pod && pod.metadata.annotations?.[PEER_TRUST_ANNOTATION] === undefined);
  });
  const strangers = knownMembers(snapshot).filter(({ name }) => peerNamed(snapshot, name) === undefined);
  return [...bare.map(({ metadata }) => metadata.name), ...strangers.map(({ name }) => name)];
}

/**
 * What members get towards each other.
 * @param issued what they are to show and to trust, if it is there @returns nothing, when they are to have nothing
 */
export function peerSide(
  snapshot: ClusterSnapshot,
  issued: Omit<PeerSide, "scheme"> | undefined,
): PeerSide | undefined {
  const { cluster, peers } = snapshot;
  if (issued === undefined || peers.length === 0) return issued;
  const isAnybodyReached = peers.some(({ spec }) => reachedBy(spec) === "https");
  if (providerOf(cluster.spec, "peer") === "None") return isBack(snapshot) ? undefined : { ...issued, scheme: "http" };
  const isKnown = withoutPair(snapshot).length === 0 && peers.every(({ spec }) => spec.bootstrap === undefined);
  return isAnybodyReached || isKnown ? issued : { ...issued, scheme: "http" };
}

/** Whether nobody is reached over TLS any more, or somebody could not be: what members have for it goes. */
function isBack(snapshot: ClusterSnapshot): boolean {
  const { peers, pods, members } = snapshot;
  if (peers.some(({ spec }) => reachedBy(spec) === "https")) return false;
  if (peers.some(({ spec }) => spec.tls?.peer === undefined)) return true;
  const areDeaf = [...pods.values()].every((pod) => listensBy(pod) === "http");
  return areDeaf && members.is === "present" && knownMembers(snapshot).every(isPlain(snapshot));
}

function isPlain(snapshot: ClusterSnapshot) {
  return (member: KnownMember) =>
    peerNamed(snapshot, member.name) === undefined || listedBy(snapshot, member) !== "https";
}

/** Why the member is not to be reached by this scheme now, as a sentence; `undefined` when it may be. */
export function whyNotReached(snapshot: ClusterSnapshot, peer: EtcdPeer, scheme: Scheme): string | undefined {
  const { name } = peer.metadata;
  if (reachedBy(peer.spec) === scheme) return undefined;
  if (peer.spec.bootstrap !== undefined) return `${name} has not joined yet, and is listed by ${reachedBy(peer.spec)}`;
  const member = memberNamed(snapshot, name);
  if (member?.isLearner === true) return `${name} is a learner: etcd would take it for a voter`;
  const other = halfway(snapshot).find((each) => each !== name);
  if (other !== undefined) return `${other} is not reached as etcd lists it yet`;
  const [bare] = withoutPair(snapshot);
  if (scheme === "https" && bare !== undefined) return `${bare} could dial nobody over TLS`;
  // What it had before is what etcd lists, or listed a moment ago, and nobody else has changed since.
  const isPutBack = peer.spec.previous !== undefined && reachedBy(peer.spec.previous) === scheme;
  const isAlone = knownMembers(snapshot).length === 1;
  return snapshot.members.is === "present" || isPutBack || isAlone
    ? undefined
    : "etcd cannot be asked who its members are";
}

/** The template, by which the member goes on to be reached as it is while it may not be otherwise. */
export function asReached(snapshot: ClusterSnapshot, peer: EtcdPeer, template: MemberTemplate): MemberTemplate {
  if (whyNotReached(snapshot, peer, reachedBy(template)) === undefined) return template;
  return reachableBy(template, reachedBy(peer.spec), peer.spec.tls?.peer);
}

/** The template with this scheme. @param pair what a member has that is to have no certificate any more, and is reached over TLS */
export function reachableBy(template: MemberTemplate, scheme: Scheme, pair?: PeerSide): MemberTemplate {
  const { peer = pair, ...rest } = template.tls ?? {};
  if (reachedBy(template) === scheme || peer === undefined) return template;
  const { scheme: _, ...shown } = peer;
  return { ...template, tls: { ...rest, peer: scheme === "https" ? shown : { ...shown, scheme } } };
}

/** How a member that comes back is reached: as etcd lists it, or its claim says, or as the first ones were. */
export function schemeKept(snapshot: ClusterSnapshot, name: string): Scheme {
  const member = memberNamed(snapshot, name);
  const claim = snapshot.claims.find(({ metadata }) => metadata.name === name);
  const listed = member && listedBy(snapshot, member);
  if (listed !== undefined) return listed;
  if (claim !== undefined) return claim.metadata.annotations?.[PEER_SCHEME_ANNOTATION] === "https" ? "https" : "http";
  return identityOf(snapshot)?.peerScheme ?? "http";
}
