import type { RoleRule } from "#role/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck in milliseconds. It does not query etcd: access/calls.ts backs off from a cluster that does not answer. */
const RECHECK_MS = 10_000;

/** Waits while no member answers. */
export const awaitEtcd: RoleRule = {
  name: "await-etcd",
  decide({ access, found }) {
    const dark = [access, found].find(({ is }) => is === "unknown");
    return dark?.is === "unknown" ? wait("await-etcd", `etcd could not be asked: ${dark.why}`, RECHECK_MS) : undefined;
  },
};
