import { hasJoined } from "#cluster/members.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** A member that has answered as part of this cluster, or that etcd lists as started, has data on its volume: it may never bootstrap again. */
export const recordJoined: ClusterRule = {
  name: "record-joined",
  holds: true,
  decide(snapshot) {
    const waiting = identityOf(snapshot)?.initialMembers.filter((member) => !member.joined) ?? [];
    const names = waiting.filter((member) => hasJoined(snapshot, member)).map((member) => member.name);
    if (names.length === 0) return undefined;
    const isLast = names.length === waiting.length ? ": it is complete" : "";
    return step("record-joined", `${names.join(", ")} joined the cluster${isLast}`, { do: "recordJoined", names });
  },
};
