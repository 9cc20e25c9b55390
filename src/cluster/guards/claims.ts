import { CLEANUP_FINALIZER, isClaimGoing, REMOVAL_ANNOTATION } from "#api/names.ts";
import { neverRan } from "#cluster/learners.ts";
import { knownMembers, memberById, ownVoters, spareVoters, takesPart, votersOf } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { isSurplusLearner } from "#cluster/surplus.ts";

/** An EtcdPeer goes, and with it what holds its claim, only when etcd lists no member of its ID or its URL. */
export const notAMember: ClusterGuard = {
  name: "not-a-member",
  forbids(snapshot, step) {
    if (step.do !== "releaseClaim" && step.do !== "deletePeer") return undefined;
    if (snapshot.members.is !== "present") return "it is not known who is a member";
    const { name } = step.peer.metadata;
    const { memberID } = step.peer.spec;
    if (memberID === undefined) {
      // This is an intent. Nothing of it was started, and a member that was added for it gets an EtcdPeer again.
      return step.do === "releaseClaim" ? `${name} was never started and has no claim` : undefined;
    }
    return memberById(snapshot, memberID) === undefined ? undefined : `etcd lists ${name} as a member`;
  },
};

/**
 * A claim is deleted only because someone asked for fewer members, or because no etcd ever ran on it. Both are looked at when the
 * reason is written down, and read again when the claim is let go.
 */
export const askedToDelete: ClusterGuard = {
  name: "asked-to-delete",
  forbids(snapshot, step) {
    if (step.do === "releaseClaim" && step.finalizer === CLEANUP_FINALIZER) {
      const isGoing = isClaimGoing(step.peer.metadata.annotations?.[REMOVAL_ANNOTATION]);
      return isGoing ? undefined : `nobody asked for the data of ${step.peer.metadata.name} to be deleted`;
    }
    if (step.do !== "markRemoval" || !isClaimGoing(step.removal)) return undefined;
    const { name } = step.peer.metadata;
    const member = knownMembers(snapshot).find((each) => each.name === name);
    if (member === undefined) return `${name} is not a member`;
    if (step.removal === "never-started") return neverRan(snapshot, member) ? undefined : `${name} may hold data`;
    const asked = ownVoters(snapshot).length > snapshot.cluster.spec.replicas || isSurplusLearner(snapshot, member);
    return asked ? undefined : "nobody asked for fewer members than there are";
  },
};

/**
 * A claim that somebody has deleted is there, with what is on it, for as long as its pod is (finalizer `kubernetes.io/pvc-protection`). No pod
 * is stopped with which that goes, unless enough others have the data for a quorum: then its member is replaced like any that is lost.
 */
export const dyingClaimIsHeld: ClusterGuard = {
  name: "dying-claim-is-held",
  forbids(snapshot, step) {
    const dying = stoppedBy(snapshot, step).filter((name) => isClaimDying(snapshot, name));
    if (dying.length === 0) return undefined;
    const voters = votersOf(snapshot);
    // Whoever else is stopped keeps its data, and comes back with it.
    const left = voters.filter(
      (member) => !dying.includes(member.name) && (step.do === "fallAsleep" || takesPart(snapshot, member)),
    );
    if (spareVoters(voters.length, left.length) >= 0) return undefined;
    const which = dying.length === 1 ? `claim ${dying[0]} is` : `claims ${dying.join(", ")} are`;
    return `${which} being deleted, and what is on it goes when its pod ends: ${left.length} of ${voters.length} members would have the data; take a backup, and delete the pod by hand to give it up`;
  },
};

/** Voters that have no pod any more by the step, for a while or for good. */
function stoppedBy(snapshot: ClusterSnapshot, step: ClusterStep): readonly string[] {
  if (step.do === "restartPod") return votersOf(snapshot).some(({ name }) => name === step.name) ? [step.name] : [];
  return step.do === "fallAsleep" ? ownVoters(snapshot).map(({ name }) => name) : [];
}

function isClaimDying({ claims }: ClusterSnapshot, name: string): boolean {
  return claims.some(({ metadata }) => metadata.name === name && metadata.deletionTimestamp !== undefined);
}
