import { isOver } from "#kube/pod.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** Changes no member while a user has paused the EtcdCluster. */
export const paused: PeerRule = {
  name: "paused",
  decide({ pausedBy }) {
    if (pausedBy === undefined) return undefined;
    return wait(`the EtcdCluster is paused, so the operator changes nothing: ${pausedBy}`, 10_000);
  },
};

/**
 * Leaves a peer that is being deleted alone: the garbage collector deletes its ReplicaSet. The claim has no owner and
 * stays.
 */
export const deleting: PeerRule = {
  name: "deleting",
  decide({ peer }) {
    return peer.metadata.deletionTimestamp === undefined ? undefined : { next: "settled" };
  },
};

/** Recheck in milliseconds, for a lost event: normally the end of the pod triggers the peer. */
const RECHECK_MS = 10_000;

/** Settles a member of a sleeping cluster once its pod has stopped. */
export const asleep: PeerRule = {
  name: "asleep",
  decide({ isAsleep, pod }) {
    if (!isAsleep) return undefined;
    return pod === undefined || isOver(pod)
      ? { next: "settled" }
      : wait(`its cluster sleeps; pod ${pod.metadata.name} has yet to stop`, RECHECK_MS);
  },
};
