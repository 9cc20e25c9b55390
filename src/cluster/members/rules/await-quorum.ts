import { recheckMs } from "#base/recheck.ts";
import { sick } from "#cluster/members/members.ts";
import { sickForMs } from "#cluster/members/patience.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

const OUTAGE = { firstMs: 1_000, maxMs: 10_000 };

/**
 * Without a linearizable member list no member and no data is changed. Members that return with their data restore the
 * quorum.
 */
export const awaitQuorum: ClusterRule = {
  name: "await-quorum",
  decide(snapshot) {
    const { members } = snapshot;
    if (members.is === "present") return undefined;
    const missing = sick(snapshot);
    const names = missing.map((member) => member.name).join(", ");
    const why = members.is === "unknown" ? members.why : "no member was asked";
    const because = `the members cannot be listed: ${why}; missing: ${names || "none"}`;
    // `Math.min()` of an empty list is Infinity, so with no missing member the recheck is at the slowest rate.
    const lastsMs = Math.min(...missing.map((member) => sickForMs(snapshot, member)));
    return wait("await-quorum", because, recheckMs(lastsMs, OUTAGE), { warn: true });
  },
};
