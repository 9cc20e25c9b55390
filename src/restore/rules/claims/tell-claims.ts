import { identityAnnotations } from "#restore/identity.ts";
import { isWhole } from "#restore/pods.ts";
import { isComplete, isGivenUp, isOurs, isStaying, isTaken, isTold, type RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { step } from "#runtime/decide.ts";

/**
 * When all claims are filled and there to stay, each says which member of which cluster it is of: that is the last that is written to them. A cluster of the
 * name takes them only when all do, so this goes on to the end, also when the EtcdRestore fails or is being deleted in its middle.
 */
export const tellClaims: RestoreRule = {
  name: "tell-claims",
  holds: true,
  decide(snapshot) {
    if (snapshot.restore.status?.phase === "Completed" || isGivenUp(snapshot) || isTaken(snapshot)) return undefined;
    if (!isComplete(snapshot) && !areWhole(snapshot)) return undefined;
    const next = snapshot.members.find(({ claim }) => isStaying(claim) && isOurs(snapshot, claim) && !isTold(claim));
    if (next?.claim === undefined) return undefined;
    const because = `all claims are filled; ${next.name} says whose data it holds`;
    const annotations = identityAnnotations(snapshot.restore, next.name);
    return step("tell-claims", because, { do: "tellClaim", claim: next.claim, annotations });
  },
};

function areWhole(snapshot: RestoreSnapshot): boolean {
  return snapshot.members.every((member) => isWhole(snapshot, member)) && verdictOf(snapshot).phase !== "Failed";
}
