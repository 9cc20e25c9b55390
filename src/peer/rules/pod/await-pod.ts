import { isInTrouble, whyNotReady } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck in milliseconds, for a lost event and for a problem that lasts: normally pod events trigger the peer. */
const RECHECK_MS = 10_000;

/** Waits for Kubernetes to start the pod, reports why it is not ready, and warns when the start is stuck. */
export const awaitPod: PeerRule = {
  name: "await-pod",
  decide(snapshot) {
    const why = whyNotReady(snapshot);
    return why === undefined ? undefined : wait("await-pod", why, RECHECK_MS, { warn: isInTrouble(snapshot) });
  },
};
