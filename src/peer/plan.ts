import type { Draft, PersistentVolumeClaim, Pod, ReplicaSet } from "#kube/kinds.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import { awaitMember } from "#peer/rules/await-member.ts";
import { awaitMembership } from "#peer/rules/await-membership.ts";
import { awaitPod } from "#peer/rules/await-pod.ts";
import { claimDisowned } from "#peer/rules/claim-disowned.ts";
import { claimLost } from "#peer/rules/claim-lost.ts";
import { claimTaken } from "#peer/rules/claim-taken.ts";
import { createClaim } from "#peer/rules/create-claim.ts";
import { deleting } from "#peer/rules/deleting.ts";
import { fencePod } from "#peer/rules/fence-pod.ts";
import { labelClaim } from "#peer/rules/label-claim.ts";
import { paused } from "#peer/rules/paused.ts";
import { releaseClaim } from "#peer/rules/release-claim.ts";
import { replicaSetRule } from "#peer/rules/replica-set.ts";
import { replicaSetTaken } from "#peer/rules/replica-set-taken.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import { decide, type Guard, type Plan, type Rule } from "#runtime/decide.ts";

/** Everything that this room can do to the world: one write each. */
export type PeerStep =
  | { readonly do: "createClaim"; readonly claim: Draft<PersistentVolumeClaim> }
  | { readonly do: "deleteClaim"; readonly claim: PersistentVolumeClaim }
  | {
      readonly do: "quarantineClaim";
      readonly claim: PersistentVolumeClaim;
      readonly reason: string;
      readonly at: string;
    }
  | {
      readonly do: "labelClaim";
      readonly claim: PersistentVolumeClaim;
      readonly labels: Readonly<Record<string, string>>;
    }
  | { readonly do: "releasePeer"; readonly finalizer: string }
  | { readonly do: "annotatePod"; readonly pod: Pod; readonly annotations: Readonly<Record<string, string>> }
  | { readonly do: "createReplicaSet"; readonly replicaSet: Draft<ReplicaSet> }
  | { readonly do: "replaceReplicaSet"; readonly live: ReplicaSet; readonly replicaSet: Draft<ReplicaSet> };

export type PeerRule = Rule<PeerSnapshot, PeerStep>;
export type PeerGuard = Guard<PeerSnapshot, PeerStep>;

/** THE behaviour of a member's objects: the first rule with an opinion wins, so the place in this list is part of each rule. */
export const PEER_RULES: readonly PeerRule[] = [
  paused, // before anything is changed
  releaseClaim, // before the peer is let go
  deleting, // a peer that goes is left to go
  awaitMembership, // before anything of the member exists
  claimTaken, // before anything that would start etcd over somebody's data
  labelClaim, // only of a claim that is our own
  createClaim, // before the pod that uses it
  replicaSetTaken, // before ours is made or changed
  replicaSetRule,
  fencePod, // after the template, by which the next pod is fenced
  claimDisowned, // after the fence: a process that runs on the wrong volume may start again
  claimLost, // likewise
  awaitPod,
  awaitMember, // only a member whose pod is ready is asked
];

/** What is to be done about this snapshot. Pure and total. */
export function planPeer(snapshot: PeerSnapshot): Plan<PeerStep> {
  return decide(PEER_RULES, PEER_GUARDS, snapshot);
}
