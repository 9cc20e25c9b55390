import { isInTrouble, whyNotReady } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** The pod's own events tell when something changes; this is for those that never come, and for trouble that lasts. */
const RECHECK_MS = 10_000;

/** Kubernetes is at work; there is only to wait, to say for what, and to warn when it does not get on. */
export const awaitPod: PeerRule = {
  name: "await-pod",
  decide(snapshot) {
    const why = whyNotReady(snapshot);
    return why === undefined ? undefined : wait("await-pod", why, RECHECK_MS, { warn: isInTrouble(snapshot) });
  },
};
