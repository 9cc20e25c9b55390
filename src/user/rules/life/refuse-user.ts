import { wait } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";
import { refusalOf } from "#user/trouble.ts";

/** An edit wakes this room; this is for a cluster that says something else by now, in milliseconds. */
const RECHECK_MS = 60_000;

/** A spec that cannot be carried out changes nothing: what there is stays as it is. */
export const refuseUser: UserRule = {
  name: "refuse-user",
  decide(snapshot) {
    const because = refusalOf(snapshot);
    return because === undefined ? undefined : wait("refuse-user", because, RECHECK_MS, { warn: true });
  },
};
