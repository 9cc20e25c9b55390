import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { providerOf, reachedBy, type Side, servedBy } from "#api/tls.ts";
import type { EtcdPeer, EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { memberById, memberNamed } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterGuard } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { isHarmless, peerBefore, peerIn } from "#cluster/touched.ts";
import { SIDES } from "#cluster-tls/read/purposes.ts";
import { hexOf, type MemberId } from "#etcd/types.ts";
import type { Draft } from "#kube/kinds.ts";
import {
  dueUrl,
  listedBy,
  listensBy,
  membersChangingScheme,
  membersWithoutCertificate,
  whySchemeMustStay,
  withPeerScheme,
} from "./peer-scheme.ts";

/**
 * Turning TLS on or off keeps all members connected. No peer URL becomes https before every member can dial it, and
 * only one member at a time differs from its URL in etcd's list. No member loses its certificate while a member is
 * reached over TLS, and clients are served both ways in between.
 */
export const tlsStepwise: ClusterGuard = {
  name: "tls-stepwise",
  forbids(snapshot, step) {
    if (step.do === "updateMember") return whyNotListed(snapshot, step);
    if (hasTrait(step, "remakesPod", true)) {
      const peer = peerNamed(snapshot, step.name);
      const url = peer && !isHarmless(snapshot, step) ? dueUrl(snapshot, peer) : undefined;
      return url === undefined ? undefined : `etcd does not list ${step.name} at ${url} yet`;
    }
    const peer = peerIn(step);
    if (peer?.spec === undefined) return undefined;
    const live = peerBefore(step);
    const side = SIDES.find((each) => differsFromSpec(snapshot, peer, live, each));
    if (side !== undefined) return `TLS of ${peer.metadata.name} (${side}) would differ from spec.tls`;
    return whyNotPeerSide(snapshot, peer, live) ?? whyNotClientSide(snapshot, peer, live);
  },
};

/**
 * Whether the member's TLS on this side contradicts the spec: TLS that was not requested, or a first member without
 * requested TLS. A rollback may restore what the member had. Members that form the cluster use the scheme of the
 * recorded identity.
 */
function differsFromSpec(snapshot: ClusterSnapshot, { spec }: Draft<EtcdPeer>, live: EtcdPeer | undefined, side: Side) {
  const { cluster, peers } = snapshot;
  const has = spec?.tls?.[side] !== undefined;
  const isForming = spec?.bootstrap?.initialClusterState === "New";
  if (side === "peer" && isForming && identityOf(snapshot)?.peerScheme === "https") return reachedBy(spec) !== "https";
  if (isRolledBack(live?.spec.previous, spec)) return false;
  const isAsked = providerOf(cluster.spec, side) !== "None";
  return has ? !isAsked && peers.every((each) => each.spec.tls?.[side] === undefined) : isAsked && peers.length === 0;
}

/** Whether this is the member's previous template, apart from its peer scheme. */
function isRolledBack(previous: MemberTemplate | undefined, spec: EtcdPeerSpec | undefined): boolean {
  if (previous === undefined || spec === undefined) return false;
  return revisionOf(withPeerScheme(previous, reachedBy(spec))) === revisionOf(spec);
}

function whyNotPeerSide(snapshot: ClusterSnapshot, { metadata, spec }: Draft<EtcdPeer>, live: EtcdPeer | undefined) {
  if (spec === undefined) return undefined;
  const whyNot = live && whySchemeMustStay(snapshot, live, reachedBy(spec));
  if (whyNot !== undefined) return whyNot;
  // A member without a certificate cannot lose one.
  if (live !== undefined && live.spec.tls?.peer === undefined) return undefined;
  const reached = (peers: readonly EtcdPeer[]) =>
    peers.find((each) => reachedBy(each.spec) === "https" || isReachedByTls(snapshot, each.metadata.name));
  const { peers } = snapshot;
  if (spec.tls?.peer === undefined) {
    // After a rollback to no TLS, the member does not dial itself, and a member that it cannot dial yet dials it.
    const { previous } = live?.spec ?? {};
    const isRolledBack = previous !== undefined && previous.tls?.peer === undefined;
    const dialled = reached(isRolledBack ? peers.filter((each) => each.metadata.name !== metadata.name) : peers);
    return dialled && `${metadata.name} could not dial the https peer URL of ${dialled.metadata.name}`;
  }
  const isFirst = peers.length > 0 && reachedBy(spec) === "https" && reached(peers) === undefined;
  const [bare] = isFirst ? membersWithoutCertificate(snapshot) : [];
  return bare === undefined ? undefined : `${bare} could not dial other members over TLS`;
}

/** Whether etcd lists the member with https, or its pod listens with TLS. */
function isReachedByTls(snapshot: ClusterSnapshot, name: string): boolean {
  const [member, pod] = [memberNamed(snapshot, name), snapshot.pods.get(name)];
  const isListed = member !== undefined && listedBy(snapshot, member) === "https";
  return isListed || (pod !== undefined && listensBy(pod) === "https");
}

function whyNotClientSide(snapshot: ClusterSnapshot, { metadata, spec }: Draft<EtcdPeer>, live: EtcdPeer | undefined) {
  const [own, second] = spec === undefined ? [] : servedBy(spec);
  if (own === undefined || second !== undefined) return undefined;
  const others = live === undefined ? snapshot.peers : [live];
  const lost = others.find((each) => !servedBy(each.spec).includes(own));
  return (
    lost && `${metadata.name} would serve clients only ${own}, and ${lost.metadata.name} does not serve ${own} yet`
  );
}

/** Why the member's URL in etcd's list must not change to this one. */
function whyNotListed(
  snapshot: ClusterSnapshot,
  { name, peerUrl, id }: { name: string; peerUrl: string; id: MemberId },
) {
  const peer = peerNamed(snapshot, name);
  const member = memberById(snapshot, hexOf(id));
  if (peer === undefined || member?.name !== name || dueUrl(snapshot, peer) !== peerUrl)
    return `EtcdPeer ${name} does not have the peer URL ${peerUrl}`;
  const other = membersChangingScheme(snapshot).find((each) => each !== name);
  if (other !== undefined) return `${other} does not listen at the peer URL that etcd lists yet`;
  const [bare] = reachedBy(peer.spec) === "https" ? membersWithoutCertificate(snapshot) : [];
  return bare === undefined ? undefined : `${bare} could not dial other members over TLS`;
}
