import { hasJoined } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Reports a joined member without a claim: its data is lost. A new, empty claim would not restore it, so none is
 * created.
 */
export const claimLost: PeerRule = {
  name: "claim-lost",
  decide(snapshot) {
    if (snapshot.claim !== undefined || !hasJoined(snapshot)) return undefined;
    const because = `the claim of ${snapshot.peer.metadata.name} does not exist, so the member's data is lost; the member must be replaced`;
    return wait("claim-lost", because, 30_000, { warn: true });
  },
};
