import { idOf, memberNamed } from "#cluster/members/members.ts";
import { urlOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { dueUrl, listensBy } from "#cluster-tls/change/peer-scheme.ts";
import { step } from "#runtime/decide.ts";

/**
 * Updates the peer URL of a member that already listens at another URL than etcd lists: it was restarted by hand or
 * rolled back. Until then no member can dial it.
 */
export const updateMemberUrl: ClusterRule = {
  name: "update-member-url",
  decide(snapshot) {
    for (const peer of snapshot.peers) {
      const { name } = peer.metadata;
      const [url, member, pod] = [dueUrl(snapshot, peer), memberNamed(snapshot, name), snapshot.pods.get(name)];
      // A member with a pending restart gets its new URL right before the restart.
      if (member === undefined || pod === undefined) continue;
      if (urlOf(snapshot, name, listensBy(pod)) !== url) continue;
      return step(`${name} already listens at ${url}: its peer URL is updated`, {
        do: "updateMember",
        name,
        id: idOf(member),
        peerUrl: url,
      });
    }
    return undefined;
  },
};
