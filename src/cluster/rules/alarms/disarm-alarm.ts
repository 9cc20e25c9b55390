import { knownMembers } from "#cluster/members.ts";
import { corruptMembers } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { step } from "#runtime/decide.ts";

/**
 * While CORRUPT is raised, etcd refuses every read and write. Once the member that it was raised for has left, its reason has
 * gone; an alarm that names nobody never ends by itself.
 */
export const disarmAlarm: ClusterRule = {
  name: "disarm-alarm",
  decide(snapshot) {
    const listed = new Set(knownMembers(snapshot).map(({ id }) => id));
    const gone = corruptMembers(snapshot).find((id) => !listed.has(id));
    if (gone === undefined) return undefined;
    return step("disarm-alarm", `member ${gone}, whose data was corrupt, has left`, {
      do: "disarmAlarm",
      id: memberIdFromHex(gone),
    });
  },
};
