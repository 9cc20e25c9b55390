import { joiningPeer } from "#cluster/members/desired/peer.ts";
import { intendedPeers, memberNamed } from "#cluster/members/members.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";
import { hasRelease } from "./delete-peer-of-removed.ts";

/** etcd has added the member of an intent: its EtcdPeer gets the member ID, which permits it to start. */
export const identifyMember: ClusterRule = {
  name: "identify-member",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    for (const live of intendedPeers(snapshot)) {
      const { deletionTimestamp, finalizers } = live.metadata;
      if (deletionTimestamp !== undefined || hasRelease(finalizers)) continue; // it is being deleted, and is not resumed
      const member = memberNamed(snapshot, live.metadata.name);
      if (identity === undefined || member === undefined) continue;
      const because = `etcd has added ${member.name} as member ${member.id}`;
      return step(because, {
        do: "replacePeer",
        live,
        peer: joiningPeer(snapshot, identity, member.name, member.id),
      });
    }
    return undefined;
  },
};
