import { isOver } from "#kube/pod.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck in milliseconds, for a lost event: normally the end of the pod triggers the peer. */
const RECHECK_MS = 10_000;

/** Settles a member of a sleeping cluster once its pod has stopped. */
export const asleep: PeerRule = {
  name: "asleep",
  decide({ isAsleep, pod }) {
    if (!isAsleep) return undefined;
    return pod === undefined || isOver(pod)
      ? { next: "settled" }
      : wait("asleep", `its cluster sleeps; pod ${pod.metadata.name} has yet to stop`, RECHECK_MS);
  },
};
