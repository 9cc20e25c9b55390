import { isInTrouble, whyNotReady } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** The pod's events tell when something changes; this is for events that never come and for trouble that lasts, in milliseconds. */
const RECHECK_MS = 10_000;

/** Kubernetes is at work on the pod. The operator waits, says for what, and warns when Kubernetes does not get on. */
export const awaitPod: PeerRule = {
  name: "await-pod",
  decide(snapshot) {
    const why = whyNotReady(snapshot);
    return why === undefined ? undefined : wait("await-pod", why, RECHECK_MS, { warn: isInTrouble(snapshot) });
  },
};
