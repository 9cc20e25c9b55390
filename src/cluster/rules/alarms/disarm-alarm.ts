import { knownMembers } from "#cluster/members.ts";
import { corruptMembers, fullMembers } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { step } from "#runtime/decide.ts";

/**
 * While CORRUPT is raised, etcd refuses every read and write, and while NOSPACE is, every write. Once the member that it was raised for has
 * left, its reason has gone, and it never ends by itself; nor does one that came with a snapshot, whose members are nobody here. Who is full
 * raises it again.
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
    const because = `member ${gone}, whose ${how}, is none of this cluster's any more`;
    return step("disarm-alarm", because, { do: "disarmAlarm", id: memberIdFromHex(gone), type });
  },
};
