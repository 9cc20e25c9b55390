import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { providerOf, reachedBy, type Side, servedBy } from "#api/tls.ts";
import type { EtcdPeer, EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { SIDES } from "#cluster/certificates/purposes.ts";
import {
  dueUrl,
  halfway,
  listedBy,
  listensBy,
  reachableBy,
  whyNotReached,
  withoutPair,
} from "#cluster/certificates/scheme.ts";
import { isHarmless, peerIn } from "#cluster/guards/touched.ts";
import { memberById, memberNamed } from "#cluster/members.ts";
import { type ClusterSnapshot, identityOf, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterGuard } from "#cluster/step.ts";
import { hexOf, type MemberId } from "#etcd/types.ts";
import type { Draft } from "#kube/kinds.ts";

/**
 * Members that run go over to TLS, or back, only so that all of them reach each other at every moment: nobody is reached over TLS before every member
 * could dial it, no two of them at once otherwise than etcd lists them, and nobody loses its certificate while somebody is reached over TLS. Clients
 * are served both ways in between.
 */
export const tlsStepwise: ClusterGuard = {
  name: "tls-stepwise",
  forbids(snapshot, step) {
    if (step.do === "updateMember") return whyNotListed(snapshot, step);
    if (step.do === "restartPod") {
      const peer = peerNamed(snapshot, step.name);
      const url = peer && !isHarmless(snapshot, step) ? dueUrl(snapshot, peer) : undefined;
      return url === undefined ? undefined : `etcd does not list ${step.name} at ${url} yet`;
    }
    const peer = peerIn(step);
    if (peer?.spec === undefined) return undefined;
    const live = step.do === "replacePeer" ? step.live : undefined;
    const side = SIDES.find((each) => isOtherwise(snapshot, peer, live, each));
    if (side !== undefined) return `${peer.metadata.name} would not speak as the cluster is asked to (${side})`;
    return whyNotPeerSide(snapshot, peer, live) ?? whyNotClientSide(snapshot, peer, live);
  },
};

/**
 * Whether the member would have TLS there that nobody has asked for, or be the first one, without what is asked for; put back, it may have what it had,
 * and who forms the cluster is reached by the URL that stands in its identity.
 */
function isOtherwise(snapshot: ClusterSnapshot, { spec }: Draft<EtcdPeer>, live: EtcdPeer | undefined, side: Side) {
  const { cluster, peers } = snapshot;
  const has = spec?.tls?.[side] !== undefined;
  const isForming = spec?.bootstrap?.initialClusterState === "New";
  if (side === "peer" && isForming && identityOf(snapshot)?.peerScheme === "https") return reachedBy(spec) !== "https";
  if (isPutBack(live?.spec.previous, spec)) return false;
  const isAsked = providerOf(cluster.spec, side) !== "None";
  return has ? !isAsked && peers.every((each) => each.spec.tls?.[side] === undefined) : isAsked && peers.length === 0;
}

/** Whether that is what the member had before, however it is reached meanwhile. */
function isPutBack(previous: MemberTemplate | undefined, spec: EtcdPeerSpec | undefined): boolean {
  if (previous === undefined || spec === undefined) return false;
  return revisionOf(reachableBy(previous, reachedBy(spec))) === revisionOf(spec);
}

function whyNotPeerSide(snapshot: ClusterSnapshot, { metadata, spec }: Draft<EtcdPeer>, live: EtcdPeer | undefined) {
  if (spec === undefined) return undefined;
  const whyNot = live && whyNotReached(snapshot, live, reachedBy(spec));
  if (whyNot !== undefined) return whyNot;
  // Who has no certificate loses none.
  if (live !== undefined && live.spec.tls?.peer === undefined) return undefined;
  const reached = (peers: readonly EtcdPeer[]) =>
    peers.find((each) => reachedBy(each.spec) === "https" || isHeard(snapshot, each.metadata.name));
  const { peers } = snapshot;
  if (spec.tls?.peer === undefined) {
    // Who is put back to what it had dials none but the others, and those by whom it cannot be dialled yet answer it.
    const { previous } = live?.spec ?? {};
    const isPutBack = previous !== undefined && previous.tls?.peer === undefined;
    const dialled = reached(isPutBack ? peers.filter((each) => each.metadata.name !== metadata.name) : peers);
    return dialled && `${metadata.name} could not dial ${dialled.metadata.name}, which is reached over TLS`;
  }
  const isFirst = peers.length > 0 && reachedBy(spec) === "https" && reached(peers) === undefined;
  const [bare] = isFirst ? withoutPair(snapshot) : [];
  return bare === undefined ? undefined : `${bare} could dial nobody over TLS`;
}

/** Whether etcd lists the member, or its pod listens, over TLS. */
function isHeard(snapshot: ClusterSnapshot, name: string): boolean {
  const [member, pod] = [memberNamed(snapshot, name), snapshot.pods.get(name)];
  const isListed = member !== undefined && listedBy(snapshot, member) === "https";
  return isListed || (pod !== undefined && listensBy(pod) === "https");
}

function whyNotClientSide(snapshot: ClusterSnapshot, { metadata, spec }: Draft<EtcdPeer>, live: EtcdPeer | undefined) {
  const [own, second] = spec === undefined ? [] : servedBy(spec);
  if (own === undefined || second !== undefined) return undefined;
  const others = live === undefined ? snapshot.peers : [live];
  const lost = others.find((each) => !servedBy(each.spec).includes(own));
  return lost && `${metadata.name} would serve no client that ${lost.metadata.name} serves`;
}

/** Why etcd must not be told that the member is reached there. */
function whyNotListed(
  snapshot: ClusterSnapshot,
  { name, peerUrl, id }: { name: string; peerUrl: string; id: MemberId },
) {
  const peer = peerNamed(snapshot, name);
  const member = memberById(snapshot, hexOf(id));
  if (peer === undefined || member?.name !== name || dueUrl(snapshot, peer) !== peerUrl)
    return `EtcdPeer ${name} does not say that it is reached at ${peerUrl}`;
  const other = halfway(snapshot).find((each) => each !== name);
  if (other !== undefined) return `${other} is not reached as etcd lists it yet`;
  const [bare] = reachedBy(peer.spec) === "https" ? withoutPair(snapshot) : [];
  return bare === undefined ? undefined : `${bare} could dial nobody over TLS`;
}
