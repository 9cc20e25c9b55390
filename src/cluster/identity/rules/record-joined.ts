import { hasJoined } from "#cluster/members/members.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Records that a member has joined: it has answered as part of this cluster, or etcd lists it as started. It has data
 * on its volume, and may never bootstrap again.
 */
export const recordJoined: ClusterRule = {
  name: "record-joined",
  holds: true,
  decide(snapshot) {
    const waiting = identityOf(snapshot)?.initialMembers.filter((member) => !member.joined) ?? [];
    const names = waiting.filter((member) => hasJoined(snapshot, member)).map((member) => member.name);
    if (names.length === 0) return undefined;
    const isLast = names.length === waiting.length ? ": it is complete" : "";
    return step(`${names.join(", ")} joined the cluster${isLast}`, { do: "recordJoined", names });
  },
};
