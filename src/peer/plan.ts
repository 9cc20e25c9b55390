import { PEER_GUARDS } from "#peer/guards.ts";
import { annotateClaim } from "#peer/rules/claim/annotate-claim.ts";
import { claimDisowned } from "#peer/rules/claim/claim-disowned.ts";
import { claimLost } from "#peer/rules/claim/claim-lost.ts";
import { claimsUnclear } from "#peer/rules/claim/claims-unclear.ts";
import { createClaim } from "#peer/rules/claim/create-claim.ts";
import { labelClaim } from "#peer/rules/claim/label-claim.ts";
import { recordRelease } from "#peer/rules/claim/record-release.ts";
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
