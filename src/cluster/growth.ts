import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { whyNotFor } from "#cluster/certificates/newcomer.ts";
import { intendedPeers, nextPeerName, ownVoters } from "#cluster/members.ts";
import { nextTemplate } from "#cluster/rolling.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { templateRun } from "#cluster/versions.ts";

/** Who is to join next. */
export function nextToJoin(snapshot: ClusterSnapshot): {
  readonly name: string;
  /** Undefined: nobody is intended to yet. */
  readonly intent: EtcdPeer | undefined;
  /** Whether the former holder of the name is still going away. */
  readonly leaving: boolean;
} {
  const [intent] = intendedPeers(snapshot).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const { name, leaving } = nextPeerName(snapshot);
  return { name: intent?.metadata.name ?? name, intent, leaving };
}

/**
 * Whether restarts come before members: certificates keep the next one from joining, and those that there are have yet to restart with others. Who
 * would wait for the next one to be there would wait for ever.
 */
export function isHeldByCertificates(snapshot: ClusterSnapshot): boolean {
  const isTlsDue = ownVoters(snapshot).some(({ name }) => {
    const peer = peerNamed(snapshot, name);
    return peer !== undefined && hasOtherTls(templateRun(snapshot, peer), nextTemplate(snapshot, peer));
  });
  return isTlsDue && whyNotFor(snapshot, nextToJoin(snapshot).name) !== undefined;
}

function hasOtherTls(running: MemberTemplate, next: MemberTemplate): boolean {
  return revisionOf({ ...running, tls: next.tls }) !== revisionOf(running);
}
