import { wait } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";
import { refusalOf } from "#user/trouble.ts";

/** Recheck in milliseconds, for a change of the EtcdCluster: an edit of the EtcdUser triggers this controller. */
const RECHECK_MS = 60_000;

/** Refuses a spec that cannot be applied. Everything stays as it is. */
export const refuseUser: UserRule = {
  name: "refuse-user",
  decide(snapshot) {
    const because = refusalOf(snapshot);
    return because === undefined ? undefined : wait("refuse-user", because, RECHECK_MS, { warn: true });
  },
};
