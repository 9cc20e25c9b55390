import { identityAnnotations } from "#restore/identity.ts";
import { isWhole } from "#restore/pods.ts";
import { isComplete, isGivenUp, isOurs, isStaying, isTaken, isTold, type RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { step } from "#runtime/decide.ts";

/**
 * Writes the identity of cluster and member to each claim once all claims are filled and stay: the last write to them.
 * A cluster adopts the claims only when all are identified, so this also completes for an EtcdRestore that fails or is
 * being deleted.
 */
export const identifyClaims: RestoreRule = {
  name: "identify-claims",
  holds: true,
  decide(snapshot) {
    if (snapshot.restore.status?.phase === "Completed" || isGivenUp(snapshot) || isTaken(snapshot)) return undefined;
    if (!isComplete(snapshot) && !areWhole(snapshot)) return undefined;
    const next = snapshot.members.find(({ claim }) => isStaying(claim) && isOurs(snapshot, claim) && !isTold(claim));
    if (next?.claim === undefined) return undefined;
    const because = `all claims are filled; the identity of the member is written to claim ${next.name}`;
    const annotations = identityAnnotations(snapshot.restore, next.name);
    return step("identify-claims", because, { do: "tellClaim", claim: next.claim, annotations });
  },
};

function areWhole(snapshot: RestoreSnapshot): boolean {
  return snapshot.members.every((member) => isWhole(snapshot, member)) && verdictOf(snapshot).phase !== "Failed";
}
