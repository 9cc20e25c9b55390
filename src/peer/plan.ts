import { PEER_GUARDS } from "#peer/guards.ts";
import {
  annotateClaim,
  claimDisowned,
  claimLost,
  claimsUnclear,
  createClaim,
  labelClaim,
  recordRelease,
  releaseClaim,
} from "#peer/rules/claim.ts";
import { asleep, deleting, paused } from "#peer/rules/life.ts";
import {
  awaitMember,
  awaitMembership,
  awaitPod,
  fencePod,
  noteRevision,
  replicaSetRule,
  replicaSetTaken,
} from "#peer/rules/pod.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerRule, PeerStep } from "#peer/step.ts";
import { decide, type Plan, type Resting } from "#runtime/decide.ts";

/** The rules in order of priority: the first rule that decides wins, so the position is part of each rule. */
export const PEER_RULES: readonly PeerRule[] = [
  paused, // Before every rule that changes something.
  releaseClaim, // Before the finalizer is removed.
  deleting, // Before all creations: a peer that is being deleted gets no new objects.
  awaitMembership, // Before any object of the member exists.
  claimsUnclear, // Before all that would start etcd on foreign data.
  annotateClaim, // Before the ReplicaSet, from which the next pod is created. Changes only the member's own claim.
  labelClaim, // Changes only the member's own claim.
  createClaim, // Before the pod that uses the claim.
  replicaSetTaken, // Before the peer's ReplicaSet is created or changed.
  replicaSetRule,
  fencePod, // After the template, which fences the next pod.
  noteRevision, // After the fence, which is more urgent.
  recordRelease, // After the fence. Before `asleep`: a sleeping member is not probed.
  claimDisowned, // After the fence: a process on the wrong volume may restart.
  claimLost, // After the fence, for the same reason.
  asleep, // After all reports about the claim, and before waiting for the pod.
  awaitPod,
  awaitMember, // Last: only a member with a ready pod is probed.
];

/** Decides the next step for a snapshot. Pure and total. */
export function planPeer(snapshot: PeerSnapshot, resting?: Resting<PeerStep>): Plan<PeerStep> {
  return decide(PEER_RULES, PEER_GUARDS, snapshot, resting);
}
