import { wait } from "#runtime/decide.ts";
import type { UserRule } from "#user/step.ts";

/** Recheck in milliseconds. It does not query etcd: access/calls.ts backs off from a cluster that does not answer. */
const RECHECK_MS = 10_000;

/** Waits while no member answers. */
export const awaitEtcd: UserRule = {
  name: "await-etcd",
  decide({ access, found, password }) {
    const dark = [access, found, password].find(({ is }) => is === "unknown");
    return dark?.is === "unknown" ? wait("await-etcd", `etcd could not be asked: ${dark.why}`, RECHECK_MS) : undefined;
  },
};
