import type { PeerRule } from "#peer/step.ts";

/** A peer that is being deleted is left alone: the garbage collector takes its ReplicaSet. The claim has no owner and stays. */
export const deleting: PeerRule = {
  name: "deleting",
  decide({ peer }) {
    return peer.metadata.deletionTimestamp === undefined ? undefined : { next: "settled" };
  },
};
