import { restoredClaim } from "#restore/desired/member.ts";
import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/** Creates each member's claim before anything is read. The claim has no identity yet. */
export const createClaim: RestoreRule = {
  name: "create-claim",
  decide(snapshot) {
    if (isComplete(snapshot)) return undefined;
    const next = snapshot.members.find(({ claim }) => claim === undefined);
    if (next === undefined) return undefined;
    const because = `the snapshot is restored to one claim per member; ${next.name} is missing`;
    return step("create-claim", because, { do: "createClaim", claim: restoredClaim(snapshot, next.name) });
  },
};
