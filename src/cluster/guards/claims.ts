import { CLEANUP_FINALIZER, isClaimGoing, REMOVAL_ANNOTATION } from "#api/names.ts";
import { whyHeldAwake, whyHeldTogether, whyHeldUp } from "#cluster/dying-claims.ts";
import { neverRan } from "#cluster/learners.ts";
import { knownMembers, memberById, ownVoters } from "#cluster/members.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
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
 * No pod is stopped with which a claim goes that somebody has deleted, unless enough others have the data for a quorum: then its member is replaced. And nobody goes for
 * the sake of one or two members when claims that stay would be no quorum of these: nobody could be replaced then.
 */
export const dyingClaimIsHeld: ClusterGuard = {
  name: "dying-claim-is-held",
  forbids(snapshot, step) {
    if (step.do === "fallAsleep") return whyHeldAwake(snapshot);
    const goes = goesForFewer(snapshot, step);
    if (goes !== undefined) return whyHeldTogether(snapshot, goes);
    return step.do === "restartPod" ? whyHeldUp(snapshot, step.name) : undefined;
  },
};

/** Who is chosen to go, or is removed, for the sake of fewer members. */
function goesForFewer(snapshot: ClusterSnapshot, step: ClusterStep): string | undefined {
  if (step.do === "markRemoval") return step.removal === "scale-down" ? step.peer.metadata.name : undefined;
  if (step.do !== "removeMember") return undefined;
  const removal = peerNamed(snapshot, step.name)?.metadata.annotations?.[REMOVAL_ANNOTATION];
  return removal === "scale-down" ? step.name : undefined;
}
