import type { PeerRule } from "#peer/step.ts";

/**
 * Leaves a peer that is being deleted alone: the garbage collector deletes its ReplicaSet. The claim has no owner and
 * stays.
 */
export const deleting: PeerRule = {
  name: "deleting",
  decide({ peer }) {
    return peer.metadata.deletionTimestamp === undefined ? undefined : { next: "settled" };
  },
};
