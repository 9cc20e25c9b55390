import type { EtcdPeerStatus } from "#api/v1beta1/peer.ts";

/**
 * Whether nobody waits for what the status says: its cluster restarts the member by the name of what its next pod is made from, and not when that
 * is not known for now. Of a new member nobody asks yet.
 */
export function isInPassing(before: EtcdPeerStatus, after: EtcdPeerStatus): boolean {
  return before.revision === undefined || before.revision === after.revision;
}
