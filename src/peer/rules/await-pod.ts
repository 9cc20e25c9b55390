import { isReady, whyNotRunning } from "#kube/pod.ts";
import type { PeerRule } from "#peer/plan.ts";
import { wait } from "#runtime/decide.ts";

/** The pod's own events tell when something changes; this is for those that never come. */
const RECHECK_MS = 10_000;

/** The kubelet is at work; there is only to wait, and to say for what. */
export const awaitPod: PeerRule = {
  name: "await-pod",
  decide({ pod }) {
    if (pod === undefined) return wait("await-pod", "its pod is not created yet", RECHECK_MS);
    if (isReady(pod)) return undefined;
    return wait("await-pod", whyNotRunning(pod) ?? "its pod runs but is not ready yet", RECHECK_MS);
  },
};
