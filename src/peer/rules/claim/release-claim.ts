import {
  CLEANUP_FINALIZER,
  isClaimGoing,
  QUARANTINE_FINALIZER,
  QUARANTINE_LABEL,
  REMOVAL_ANNOTATION,
} from "#api/names.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { isOwnClaim } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Deletes or quarantines the claim of a deleted peer, as its finalizer requests, and then removes the finalizer.
 * Without a finalizer the claim is not touched.
 */
export const releaseClaim: PeerRule = {
  name: "release-claim",
  decide(snapshot) {
    const { peer, claim } = snapshot;
    const finalizer = [CLEANUP_FINALIZER, QUARANTINE_FINALIZER].find((known) =>
      peer.metadata.finalizers?.includes(known),
    );
    if (peer.metadata.deletionTimestamp === undefined || finalizer === undefined) return undefined;
    const own = claim !== undefined && isOwnClaim(snapshot, claim) ? claim : undefined;
    const { name } = peer.metadata;
    const removal = peer.metadata.annotations?.[REMOVAL_ANNOTATION];
    // A claim that a user has quarantined is deleted only by a user.
    const isPutAside = own?.metadata.labels?.[QUARANTINE_LABEL] !== undefined;
    const isGoing = finalizer === CLEANUP_FINALIZER && isClaimGoing(removal) && !isPutAside;
    if (isGoing && own !== undefined && own.metadata.deletionTimestamp === undefined) {
      return step("release-claim", `${name} was removed (${removal}): its claim is deleted`, {
        do: "deleteClaim",
        claim: own,
      });
    }
    if (
      finalizer === QUARANTINE_FINALIZER &&
      own !== undefined &&
      own.metadata.labels?.[QUARANTINE_LABEL] === undefined
    ) {
      const reason = `${name} is no longer a member of cluster ${peer.spec.clusterID}`;
      return step("release-claim", `${reason}: its claim is quarantined`, {
        do: "quarantineClaim",
        claim: own,
        reason,
        at: rfc3339(snapshot.takenAtMs),
      });
    }
    return step("release-claim", `nothing is left to do for the claim of ${name}`, { do: "releasePeer", finalizer });
  },
};
