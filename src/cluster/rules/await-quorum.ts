import { sick } from "#cluster/members.ts";
import type { ClusterRule } from "#cluster/plan.ts";
import { wait } from "#runtime/decide.ts";

const RECHECK_MS = 2_000;

/** Without a linearizable member list no member and no data is touched: members that return with their data heal the cluster. */
export const awaitQuorum: ClusterRule = {
  name: "await-quorum",
  decide(snapshot) {
    if (snapshot.members.is === "present") return undefined;
    const names = sick(snapshot)
      .map((member) => member.name)
      .join(", ");
    return wait("await-quorum", `no majority of members answers; missing: ${names || "none"}`, RECHECK_MS, {
      warn: true,
    });
  },
};
