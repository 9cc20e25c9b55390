import type { ClusterRule } from "#cluster/plan.ts";
import { healthOf, knownMembers } from "#cluster/snapshot.ts";
import { wait } from "#runtime/decide.ts";

const RECHECK_MS = 2_000;

/** Without a linearizable member list no member and no data is touched: members that return with their data heal the cluster. */
export const awaitQuorum: ClusterRule = {
  name: "await-quorum",
  decide(snapshot) {
    if (snapshot.members.is === "present") return undefined;
    const missing = knownMembers(snapshot).filter(
      (member) => healthOf(snapshot, member.name, member.id).is !== "healthy",
    );
    const names = missing.map((member) => member.name).join(", ");
    return wait("await-quorum", `no majority of members answers; missing: ${names || "none"}`, RECHECK_MS, {
      warn: true,
    });
  },
};
