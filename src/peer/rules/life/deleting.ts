import type { PeerRule } from "#peer/step.ts";

/** The garbage collector takes the ReplicaSet and its pod. The claim has no owner and stays. */
export const deleting: PeerRule = {
  name: "deleting",
  decide({ peer }) {
    return peer.metadata.deletionTimestamp === undefined ? undefined : { next: "settled" };
  },
};
