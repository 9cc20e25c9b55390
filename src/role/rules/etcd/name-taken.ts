import { whyTaken } from "#access/claim.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck in milliseconds: the deletion of the other object does not trigger this one. */
const RECHECK_MS = 60_000;

/**
 * Waits while the name is taken: by a role in etcd that others have created, unless spec.takeOver is set, or by an
 * older object.
 */
export const nameTaken: RoleRule = {
  name: "name-taken",
  decide(snapshot) {
    const because = whyTaken(claimOf(snapshot));
    return because === undefined ? undefined : wait("name-taken", because, RECHECK_MS, { warn: true });
  },
};
