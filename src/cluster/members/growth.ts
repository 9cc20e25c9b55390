import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { nextTemplate } from "#cluster/update/next-template.ts";
import { templateRun } from "#cluster/update/versions.ts";
import { whyCannotJoin } from "#cluster-tls/effective/new-member.ts";
import { intendedPeers, nextPeerName, ownVoters } from "./members.ts";

/** The member that joins next. */
export function nextToJoin(snapshot: ClusterSnapshot): {
  readonly name: string;
  /** Undefined while no intent is recorded. */
  readonly intent: EtcdPeer | undefined;
  /** Whether the previous object of this name is still being deleted. */
  readonly leaving: boolean;
} {
  const [intent] = intendedPeers(snapshot).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const { name, leaving } = nextPeerName(snapshot);
  return { name: intent?.metadata.name ?? name, intent, leaving };
}

/**
 * Whether pending TLS restarts come before a new member: certificates keep it from joining until the existing members
 * have restarted. Waiting for the new member first would be a deadlock.
 */
export function isHeldByCertificates(snapshot: ClusterSnapshot): boolean {
  const isTlsDue = ownVoters(snapshot).some(({ name }) => {
    const peer = peerNamed(snapshot, name);
    return peer !== undefined && hasOtherTls(templateRun(snapshot, peer), nextTemplate(snapshot, peer));
  });
  return isTlsDue && whyCannotJoin(snapshot, nextToJoin(snapshot).name) !== undefined;
}

function hasOtherTls(running: MemberTemplate, next: MemberTemplate): boolean {
  return revisionOf({ ...running, tls: next.tls }) !== revisionOf(running);
}
