import { recheckMs } from "#base/recheck.ts";
import { sick } from "#cluster/members/members.ts";
import { sickForMs } from "#cluster/members/patience.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

const OUTAGE = { firstMs: 1_000, maxMs: 10_000 };

/**
 * An election takes a second or two, in which all members may answer and no list can be read. Smaller: users get a
 * Warning for each election. Larger: a lasting problem is reported later.
 */
const ELECTION_MS = 15_000;

/**
 * Without a linearizable member list no member and no data is changed. Members that return with their data restore the
 * quorum.
 */
export const awaitQuorum: ClusterRule = {
  name: "await-quorum",
  decide(snapshot) {
    const { members } = snapshot;
    if (members.is === "present") return undefined;
    const why = members.is === "unknown" ? members.why : "no member was asked";
    const because = `the members cannot be listed: ${why}`;
    const missing = sick(snapshot);
    if (missing.length === 0) {
      const lastsMs = notReadyForMs(snapshot);
      return wait("await-quorum", because, recheckMs(lastsMs, OUTAGE), { warn: lastsMs >= ELECTION_MS });
    }
    const names = missing.map((member) => member.name).join(", ");
    const lastsMs = Math.min(...missing.map((member) => sickForMs(snapshot, member)));
    return wait("await-quorum", `${because}; missing: ${names}`, recheckMs(lastsMs, OUTAGE), { warn: true });
  },
};

/** For how long the status has had Ready False, in milliseconds; nothing when it is True or was never written. */
function notReadyForMs({ cluster, takenAtMs }: ClusterSnapshot): number {
  const ready = cluster.status?.conditions?.find(({ type }) => type === "Ready");
  const sinceMs = ready?.status === "False" ? Date.parse(ready.lastTransitionTime) : takenAtMs;
  return takenAtMs - sinceMs;
}
