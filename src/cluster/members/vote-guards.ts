import type { ClusterGuard } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { leavingBy } from "#cluster/touched.ts";
import { hexOf } from "#etcd/types.ts";
import { isFenced, knownMembers, votersOf } from "./members.ts";

/**
 * No member becomes a voter that could return from an empty volume: neither its running pod nor the next one may
 * bootstrap.
 */
export const fenceBeforeVote: ClusterGuard = {
  name: "fence-before-vote",
  forbids(snapshot, step) {
    if (!hasTrait(step, "votes", 1) || isFenced(snapshot, step.name)) return undefined;
    return `${step.name} is not fenced yet`;
  },
};

/** A voter is replaced only when neither the member itself, nor the kubelet, nor another member reports it healthy. */
export const noSignOfLife: ClusterGuard = {
  name: "no-sign-of-life",
  forbids(snapshot, step) {
    const { name, removal } = leavingBy(snapshot, step) ?? {};
    const voter = votersOf(snapshot).find((member) => member.name === name);
    if (voter === undefined || removal === "scale-down") return undefined;
    if (voter.participatesInQuorum) return `${voter.name} participates in the quorum`;
    return voter.isVouchedFor
      ? `${voter.name} does not answer the operator, but its kubelet or other members report it healthy`
      : undefined;
  },
};

/** An alarm is disarmed only when its member is not in the cluster any more. */
export const alarmIsOver: ClusterGuard = {
  name: "alarm-is-over",
  forbids(snapshot, step) {
    if (step.do !== "disarmAlarm") return undefined;
    const isMember = knownMembers(snapshot).some(({ id }) => id === hexOf(step.id));
    return isMember ? `member ${hexOf(step.id)} is still listed` : undefined;
  },
};
