import { ETCD_CONTAINER } from "#api/names.ts";
import type { KnownMember } from "#cluster/members/members.ts";
import { type ClusterSnapshot, saidByPeer } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { overdueCanary } from "#cluster/update/canary.ts";
import { isReady, whyNotRunning } from "#kube/pod.ts";
import { step } from "#runtime/decide.ts";

/** Stops the update when the canary does not become healthy and Ready in time. */
export const stopUpdate: ClusterRule = {
  name: "stop-update",
  decide(snapshot) {
    const first = overdueCanary(snapshot);
    // The fault may be the operator's own network: the kubelet or other members report the canary healthy.
    if (first === undefined || first.isVouchedFor) return undefined;
    const why = whyNot(snapshot, first);
    const seconds = Math.round(snapshot.memberTimeoutMs / 1_000);
    const because = `${first.name} did not become healthy and ready within ${seconds} s of its restart: ${why}; it is rolled back`;
    return step(because, { do: "stopUpdate", name: first.name, message: why });
  },
};

/** What the pod reports, including the last output of its container; otherwise the error of the health check. */
function whyNot(snapshot: ClusterSnapshot, { name, health }: KnownMember): string {
  const pod = snapshot.pods.get(name);
  if (pod === undefined) return saidByPeer(snapshot, name) ?? "its pod is not created";
  const unfit = isReady(pod) ? "it has not caught up" : "it answers, but its pod is not Ready";
  return whyNotRunning(pod, ETCD_CONTAINER) ?? (health.is === "healthy" ? unfit : health.why);
}
