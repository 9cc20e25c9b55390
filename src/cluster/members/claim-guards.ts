import { CLEANUP_FINALIZER, isClaimGoing, REMOVAL_ANNOTATION } from "#api/names.ts";
import type { ClusterGuard } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { leavingBy } from "#cluster/touched.ts";
import { whyRestartHeld, whyScaleDownHeld, whySleepHeld } from "./dying-claims.ts";
import { knownMembers, memberById, ownVoters } from "./members.ts";
import { isSurplusLearner } from "./surplus.ts";

/** An EtcdPeer, which protects the claim of its member, is deleted only when etcd lists no member with its ID. */
export const notAMember: ClusterGuard = {
  name: "not-a-member",
  forbids(snapshot, step) {
    if (!hasTrait(step, "member", "gone")) return undefined;
    if (snapshot.members.is !== "present") return "the member list is not known";
    const { name } = step.peer.metadata;
    const { memberID } = step.peer.spec;
    if (memberID === undefined) {
      // An intent: nothing of it was started. If a member was added for it, that member gets a new EtcdPeer.
      return step.do === "releaseClaim" ? `${name} was never started and has no claim` : undefined;
    }
    return memberById(snapshot, memberID) === undefined ? undefined : `etcd lists ${name} as a member`;
  },
};

/**
 * A claim is deleted only if `spec.replicas` was lowered, if no etcd ever ran on it, or if its member never had a vote.
 * The reason is checked when it is recorded, when the member is removed, and when the claim is released.
 */
export const askedToDelete: ClusterGuard = {
  name: "asked-to-delete",
  forbids(snapshot, step) {
    if (step.do === "releaseClaim" && step.finalizer === CLEANUP_FINALIZER) {
      const isGoing = isClaimGoing(step.peer.metadata.annotations?.[REMOVAL_ANNOTATION]);
      return isGoing ? undefined : `the recorded removal of ${step.peer.metadata.name} keeps its data`;
    }
    const { name, removal } = leavingBy(snapshot, step) ?? {};
    if (!isClaimGoing(removal)) return undefined;
    const member = knownMembers(snapshot).find((each) => each.name === name);
    if (member === undefined) return `${name} is not a member`;
    if (removal === "never-started") return member.data.neverRan ? undefined : `${name} may hold data`;
    if (removal === "never-voted") return member.data.neverVoted ? undefined : `${name} may have had a vote`;
    const asked = ownVoters(snapshot).length > snapshot.cluster.spec.replicas || isSurplusLearner(snapshot, member);
    return asked ? undefined : "spec.replicas does not ask for fewer members";
  },
};

/**
 * No pod is stopped if its claim would then be deleted, unless enough other members have the data for a quorum. Scaling
 * to one or two members waits while the remaining claims would be no quorum: no lost member could be replaced then.
 */
export const dyingClaimIsHeld: ClusterGuard = {
  name: "dying-claim-is-held",
  forbids(snapshot, step) {
    if (hasTrait(step, "interrupts", "cluster")) return whySleepHeld(snapshot);
    if (hasTrait(step, "remakesPod", true)) return whyRestartHeld(snapshot, step.name);
    const leaving = leavingBy(snapshot, step);
    return leaving?.removal === "scale-down" ? whyScaleDownHeld(snapshot, leaving.name) : undefined;
  },
};
