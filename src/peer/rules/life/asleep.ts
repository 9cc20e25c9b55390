import { isOver } from "#kube/pod.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** A pod's own end wakes the peer; this is for an event that never comes, in milliseconds. */
const RECHECK_MS = 10_000;

/** Its cluster sleeps, and so does the member: nobody waits for its pod. */
export const asleep: PeerRule = {
  name: "asleep",
  decide({ isAsleep, pod }) {
    if (!isAsleep) return undefined;
    return pod === undefined || isOver(pod)
      ? { next: "settled" }
      : wait("asleep", `its cluster sleeps; pod ${pod.metadata.name} has yet to stop`, RECHECK_MS);
  },
};
