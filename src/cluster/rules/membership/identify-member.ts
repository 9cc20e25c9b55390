import { joiningPeer } from "#cluster/desired/peer.ts";
import { intendedPeers, memberNamed } from "#cluster/members.ts";
import { hasRelease } from "#cluster/rules/membership/retire-peer.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** The member that an intent was made for has been added: its peer learns the member ID, and with it the permission to start. */
export const identifyMember: ClusterRule = {
  name: "identify-member",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    for (const live of intendedPeers(snapshot)) {
      const { deletionTimestamp, finalizers } = live.metadata;
      if (deletionTimestamp !== undefined || hasRelease(finalizers)) continue; // on its way out: it is not resumed
      const member = memberNamed(snapshot, live.metadata.name);
      if (identity === undefined || member === undefined) continue;
      const because = `etcd has added ${member.name} as member ${member.id}`;
      return step("identify-member", because, {
        do: "replacePeer",
        live,
        peer: joiningPeer(snapshot, identity, member.name, member.id),
      });
    }
    return undefined;
  },
};
