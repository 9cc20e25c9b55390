import { whyTaken } from "#access/claim.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { wait } from "#runtime/decide.ts";

/** In milliseconds: the other object's end wakes nobody. */
const RECHECK_MS = 60_000;

/** What somebody else has made in etcd is left alone, unless spec.takeOver says otherwise; of two objects of one name the older one has it. */
export const nameTaken: RoleRule = {
  name: "name-taken",
  decide(snapshot) {
    const because = whyTaken(claimOf(snapshot));
    return because === undefined ? undefined : wait("name-taken", because, RECHECK_MS, { warn: true });
  },
};
