import { sick } from "#cluster/members.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

const RECHECK_MS = 2_000;

/** Without a linearizable member list no member and no data is touched: members that return with their data heal the cluster. */
export const awaitQuorum: ClusterRule = {
  name: "await-quorum",
  decide(snapshot) {
    const { members } = snapshot;
    if (members.is === "present") return undefined;
    const names = sick(snapshot)
      .map((member) => member.name)
      .join(", ");
    const why = members.is === "unknown" ? members.why : "nobody was asked";
    const because = `the members cannot be listed: ${why}; missing: ${names || "none"}`;
    return wait("await-quorum", because, RECHECK_MS, { warn: true });
  },
};
