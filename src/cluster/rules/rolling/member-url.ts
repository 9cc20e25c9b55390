import { dueUrl, listensBy } from "#cluster/certificates/scheme.ts";
import { idOf, memberNamed } from "#cluster/members.ts";
import { urlOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * A member that listens otherwise than etcd lists it by now is listed so: it was restarted by somebody else before its turn, or put back. Until then
 * nobody can dial it.
 */
export const memberUrl: ClusterRule = {
  name: "member-url",
  decide(snapshot) {
    for (const peer of snapshot.peers) {
      const { name } = peer.metadata;
      const [url, member, pod] = [dueUrl(snapshot, peer), memberNamed(snapshot, name), snapshot.pods.get(name)];
      // Who has yet to restart has its URL changed right before.
      if (member === undefined || pod === undefined) continue;
      if (urlOf(snapshot, name, listensBy(pod)) !== url) continue;
      return step("member-url", `${name} listens there by now: ${url}`, {
        do: "updateMember",
        name,
        id: idOf(member),
        peerUrl: url,
      });
    }
    return undefined;
  },
};
