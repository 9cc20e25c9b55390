import { restoredClaim } from "#restore/desired/member.ts";
import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/** Each member gets its claim before anything is read. It does not say yet whose data it holds. */
export const createClaim: RestoreRule = {
  name: "create-claim",
  decide(snapshot) {
    if (isComplete(snapshot)) return undefined;
    const next = snapshot.members.find(({ claim }) => claim === undefined);
    if (next === undefined) return undefined;
    const because = `the snapshot is restored to claims, of which ${next.name} is one`;
    return step("create-claim", because, { do: "createClaim", claim: restoredClaim(snapshot, next.name) });
  },
};
