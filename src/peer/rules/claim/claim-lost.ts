import { hasJoined } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** A member that has joined and lost its claim has lost its data. An empty claim would not bring it back, so none is made. */
export const claimLost: PeerRule = {
  name: "claim-lost",
  decide(snapshot) {
    if (snapshot.claim !== undefined || !hasJoined(snapshot)) return undefined;
    const because = `the claim of ${snapshot.peer.metadata.name} is gone, and the member's data with it; the member has to be replaced`;
    return wait("claim-lost", because, 30_000, { warn: true });
  },
};
