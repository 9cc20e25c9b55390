import { recheckMs } from "#base/recheck.ts";
import { type KnownMember, sick } from "#cluster/members/members.ts";
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
    const missing = sick(snapshot).filter((member) => !lacksOnlyLeader(snapshot, member));
    if (missing.length === 0) {
      const lastsMs = unavailableForMs(snapshot);
      const because = `the members cannot be listed: ${why}`;
      return wait(because, recheckMs(lastsMs, OUTAGE), { warn: lastsMs >= ELECTION_MS });
    }
    const names = missing.map((member) => member.name).join(", ");
    const lastsMs = Math.min(...missing.map((member) => member.history.sickForMs));
    const because = `the members cannot be listed: ${why}; missing: ${names}`;
    return wait(because, recheckMs(lastsMs, OUTAGE), { warn: true });
  },
};

/** Whether the member answers and follows no leader, as during an election. */
function lacksOnlyLeader(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const answer = snapshot.endpoints.get(member.name);
  return member.health.is === "unhealthy" && answer?.is === "present" && answer.value.leaderId === undefined;
}

/**
 * For how long the status has not had Available True, in milliseconds. Ready may have been False for longer, such as
 * during an update.
 */
function unavailableForMs({ cluster, takenAtMs }: ClusterSnapshot): number {
  const available = cluster.status?.conditions?.find(({ type }) => type === "Available");
  const isAvailable = available === undefined || available.status === "True";
  const sinceMs = isAvailable ? takenAtMs : Date.parse(available.lastTransitionTime);
  return takenAtMs - sinceMs;
}
