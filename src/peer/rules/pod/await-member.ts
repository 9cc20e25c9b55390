import { ETCD_CONTAINER } from "#api/names.ts";
import { recheckMs } from "#base/recheck.ts";
import { whyNotMeant } from "#etcd/not-meant.ts";
import { hexOf } from "#etcd/types.ts";
import { startedMsAgo } from "#kube/pod.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** No event tells when a member can be reached again, and its status should not be wrong for longer than a look takes. */
const RECHECK = { firstMs: 2_000, maxMs: 10_000 };

/** The pod is ready, but the member could not be asked, somebody else has answered, or it has had no leader yet: it is asked again soon. */
export const awaitMember: PeerRule = {
  name: "await-member",
  decide(snapshot) {
    const because = whyUnheard(snapshot);
    if (because === undefined) return undefined;
    const { pod, takenAtMs } = snapshot;
    const againMs =
      pod === undefined ? RECHECK.firstMs : recheckMs(startedMsAgo(pod, ETCD_CONTAINER, takenAtMs), RECHECK);
    return wait("await-member", because, againMs);
  },
};

/** Why the member is not known to serve, as a clause. */
function whyUnheard({ endpoint, peer }: PeerSnapshot): string | undefined {
  if (endpoint?.is !== "present") return endpoint?.is === "unknown" ? endpoint.why : "it was not asked yet";
  const { clusterID, memberID } = peer.spec;
  const answer = endpoint.value;
  const stranger = whyNotMeant(answer, clusterID, memberID ?? hexOf(answer.memberId));
  if (stranger !== undefined) return stranger;
  // Who was ready stays so during an election: of one without end the kubelet tells within seconds, and that is seen at once.
  const wasReady = peer.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  return answer.leaderId === undefined && !wasReady ? "it has no leader" : undefined;
}
