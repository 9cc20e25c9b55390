import { ETCD_CONTAINER } from "#api/names.ts";
import { recheckMs } from "#base/recheck.ts";
import { whyNotMeant } from "#etcd/not-meant.ts";
import { hexOf } from "#etcd/types.ts";
import { startedMsAgo } from "#kube/pod.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Recheck in milliseconds. No event reports that a member is reachable again, and the status should not be wrong for
 * longer.
 */
const RECHECK = { firstMs: 2_000, maxMs: 10_000 };

/**
 * Probes the member again soon when its pod is ready but the probe failed, another member answered, or it has no leader
 * yet.
 */
export const awaitMember: PeerRule = {
  name: "await-member",
  decide(snapshot) {
    const because = whyNotServing(snapshot);
    if (because === undefined) return undefined;
    const { pod, takenAtMs } = snapshot;
    const againMs =
      pod === undefined ? RECHECK.firstMs : recheckMs(startedMsAgo(pod, ETCD_CONTAINER, takenAtMs), RECHECK);
    return wait("await-member", because, againMs);
  },
};

/** Why the member is not known to serve, as a clause; `undefined` when it serves. */
function whyNotServing({ endpoint, peer }: PeerSnapshot): string | undefined {
  if (endpoint?.is !== "present") return endpoint?.is === "unknown" ? endpoint.why : "it was not probed yet";
  const { clusterID, memberID } = peer.spec;
  const answer = endpoint.value;
  const stranger = whyNotMeant(answer, clusterID, memberID ?? hexOf(answer.memberId));
  if (stranger !== undefined) return stranger;
  // A member that was Ready stays Ready during an election. If the election lasts, readiness fails within seconds,
  // which triggers this controller.
  const wasReady = peer.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  return answer.leaderId === undefined && !wasReady ? "it has no leader" : undefined;
}
