import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { isFenced, knownMembers, takesPart, votersOf } from "#cluster/members.ts";
import { isVouchedFor } from "#cluster/patience.ts";
import { peerNamed } from "#cluster/snapshot.ts";
import type { ClusterGuard } from "#cluster/step.ts";
import { hexOf } from "#etcd/types.ts";

/** Nobody gets a vote who could come back from an empty volume: neither its next pod nor the one that runs may bootstrap. */
export const fenceBeforeVote: ClusterGuard = {
  name: "fence-before-vote",
  forbids(snapshot, step) {
    if (step.do !== "promote" || isFenced(snapshot, step.name)) return undefined;
    return `${step.name} is not fenced yet`;
  },
};

/** A voter is given up only when nobody says that it is well: not itself, not the kubelet, not the other members. */
export const nobodyVouches: ClusterGuard = {
  name: "nobody-vouches",
  forbids(snapshot, step) {
    const name =
      step.do === "markRemoval" ? step.peer.metadata.name : step.do === "removeMember" ? step.name : undefined;
    const voter = votersOf(snapshot).find((member) => member.name === name);
    if (name === undefined || voter === undefined) return undefined;
    const recorded = peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION];
    const removal = step.do === "markRemoval" ? step.removal : recorded;
    if (removal === undefined || removal === "scale-down") return undefined;
    if (takesPart(snapshot, voter)) return `${name} takes part`;
    return isVouchedFor(snapshot, voter) ? `${name} gives no answer, and others say that it is well` : undefined;
  },
};

/** An alarm is lowered only when the member that it was raised for is a member no more. */
export const alarmIsOver: ClusterGuard = {
  name: "alarm-is-over",
  forbids(snapshot, step) {
    if (step.do !== "disarmAlarm") return undefined;
    const isMember = knownMembers(snapshot).some(({ id }) => id === hexOf(step.id));
    return isMember ? `member ${hexOf(step.id)} is still there` : undefined;
  },
};
