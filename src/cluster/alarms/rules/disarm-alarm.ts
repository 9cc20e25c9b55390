import { knownMembers } from "#cluster/members/members.ts";
import { corruptMembers, fullMembers } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { step } from "#runtime/decide.ts";

/**
 * Disarms an alarm of a member that is not in the cluster any more, or that came with a restored snapshot. CORRUPT
 * blocks every read and write, NOSPACE every write, and neither ends by itself. A member that is full raises its alarm
 * again.
 */
export const disarmAlarm: ClusterRule = {
  name: "disarm-alarm",
  decide(snapshot) {
    const listed = new Set(knownMembers(snapshot).map(({ id }) => id));
    const corrupt = corruptMembers(snapshot).find((id) => !listed.has(id));
    const gone = corrupt ?? fullMembers(snapshot).find((id) => !listed.has(id));
    if (gone === undefined) return undefined;
    const [type, how] =
      corrupt === undefined ? (["NOSPACE", "database was full"] as const) : (["CORRUPT", "data was corrupt"] as const);
    const because = `member ${gone} has left the cluster; its ${how}`;
    return step(because, { do: "disarmAlarm", id: memberIdFromHex(gone), type });
  },
};
