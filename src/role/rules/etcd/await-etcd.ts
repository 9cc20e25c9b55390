import type { RoleRule } from "#role/step.ts";
import { wait } from "#runtime/decide.ts";

/** It is not etcd that is asked so often: a cluster that is silent is left alone for longer and longer. In milliseconds. */
const RECHECK_MS = 10_000;

/** Nothing is done while no member can be asked what there is. */
export const awaitEtcd: RoleRule = {
  name: "await-etcd",
  decide({ access, found }) {
    const dark = [access, found].find(({ is }) => is === "unknown");
    return dark?.is === "unknown" ? wait("await-etcd", `etcd could not be asked: ${dark.why}`, RECHECK_MS) : undefined;
  },
};
