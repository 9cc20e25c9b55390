import { ETCD_CONTAINER } from "#api/names.ts";
import { isVouchedFor } from "#cluster/patience.ts";
import { type ClusterSnapshot, healthOf, saidByPeer } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { overdueCanary } from "#cluster/trial.ts";
import { isReady, lastWords, whyNotRunning } from "#kube/pod.ts";
import { step } from "#runtime/decide.ts";

/** When the first member that was restarted does not become healthy and ready in time, nobody else is. */
export const stopUpdate: ClusterRule = {
  name: "stop-update",
  decide(snapshot) {
    const first = overdueCanary(snapshot);
    // The operator may be the only one that cannot see it.
    if (first === undefined || isVouchedFor(snapshot, first)) return undefined;
    const why = whyNot(snapshot, first.name, first.id);
    const seconds = Math.round(snapshot.memberTimeoutMs / 1_000);
    const because = `${first.name} did not become healthy and ready within ${seconds} s of its restart: ${why}; it is put back`;
    return step("stop-update", because, { do: "stopUpdate", name: first.name, message: why });
  },
};

/** What is known of it: the last words of its container tell most. */
function whyNot(snapshot: ClusterSnapshot, name: string, id: string): string {
  const pod = snapshot.pods.get(name);
  if (pod === undefined) return saidByPeer(snapshot, name) ?? "its pod is not created";
  const seen = healthOf(snapshot, name, id);
  const words = lastWords(pod, ETCD_CONTAINER).join("; ").trim();
  const unfit = isReady(pod) ? "it has not caught up" : "it answers, and is not ready by the kubelet's word";
  const why = whyNotRunning(pod, ETCD_CONTAINER) ?? (seen.is === "healthy" ? unfit : seen.why);
  return words === "" ? why : `${why}; its last words: ${words.slice(-MAX_WORDS)}`;
}

/** A status is read by people, and kept small. In characters. */
const MAX_WORDS = 500;
