import { PEER_GUARDS } from "#peer/guards.ts";
import { annotateClaim } from "#peer/rules/claim/annotate-claim.ts";
import { claimDisowned } from "#peer/rules/claim/claim-disowned.ts";
import { claimLost } from "#peer/rules/claim/claim-lost.ts";
import { claimTaken } from "#peer/rules/claim/claim-taken.ts";
import { createClaim } from "#peer/rules/claim/create-claim.ts";
import { labelClaim } from "#peer/rules/claim/label-claim.ts";
import { releaseClaim } from "#peer/rules/claim/release-claim.ts";
import { asleep } from "#peer/rules/life/asleep.ts";
import { deleting } from "#peer/rules/life/deleting.ts";
import { paused } from "#peer/rules/life/paused.ts";
import { awaitMember } from "#peer/rules/pod/await-member.ts";
import { awaitMembership } from "#peer/rules/pod/await-membership.ts";
import { awaitPod } from "#peer/rules/pod/await-pod.ts";
import { fencePod } from "#peer/rules/pod/fence-pod.ts";
import { noteRevision } from "#peer/rules/pod/note-revision.ts";
import { replicaSetRule } from "#peer/rules/pod/replica-set.ts";
import { replicaSetTaken } from "#peer/rules/pod/replica-set-taken.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerRule, PeerStep } from "#peer/step.ts";
import { decide, type Plan, type Resting } from "#runtime/decide.ts";

/** This list is the behaviour of a member's objects: the first rule with an opinion wins, so its place here is part of each rule. */
export const PEER_RULES: readonly PeerRule[] = [
  paused, // It comes before every rule that changes something.
  releaseClaim, // It comes before the peer is let go.
  deleting, // It comes before all that is made: nothing is made for a peer that is being deleted.
  awaitMembership, // It comes before anything of the member exists.
  claimTaken, // It comes before anything that would start etcd over somebody else's data.
  annotateClaim, // It comes before the ReplicaSet, from which the next pod is made. Like the next one it changes only what is the member's own.
  labelClaim, // It changes only a claim that is the member's own, and that is known by now.
  createClaim, // It comes before the pod that uses the claim.
  replicaSetTaken, // It comes before our own ReplicaSet is made or changed.
  replicaSetRule,
  fencePod, // It comes after the template, by which the next pod is fenced.
  noteRevision, // It comes after the fence, which is more urgent.
  claimDisowned, // It comes after the fence: a process that runs on the wrong volume may start again.
  claimLost, // The same is true of this one.
  asleep, // It comes after all that is told of the claim, and before the pod is waited for.
  awaitPod,
  awaitMember, // It comes last: only a member whose pod is ready is asked.
];

/** What is to be done about this snapshot. Pure and total. */
export function planPeer(snapshot: PeerSnapshot, resting?: Resting<PeerStep>): Plan<PeerStep> {
  return decide(PEER_RULES, PEER_GUARDS, snapshot, resting);
}
