import { lackOfPlace } from "#restore/place.ts";
import { isWhole } from "#restore/pods.ts";
import {
  hasEnded,
  isComplete,
  isDeleting,
  isGivenUp,
  isHandedOver,
  isHeld,
  isOurs,
  isOwned,
  isTaken,
  isTold,
  untoldClaims,
  wasComplete,
} from "#restore/snapshot.ts";
import { lackOfSnapshot } from "#restore/source.ts";
import type { RestoreGuard } from "#restore/step.ts";

/** A Job or a claim of somebody else is neither ended nor changed nor deleted. */
const ownOnly: RestoreGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (step.do === "deleteJob" && !isOwned(snapshot, step.job))
      return `Job ${step.job.metadata.name} is not this restore's`;
    if ((step.do === "tellClaim" || step.do === "deleteClaim") && !isOurs(snapshot, step.claim))
      return `claim ${step.claim.metadata.name} is not this restore's`;
    return undefined;
  },
};

/** Nothing is made for a restore that has ended or is being deleted. */
const onceOnly: RestoreGuard = {
  name: "once-only",
  forbids(snapshot, step) {
    if (step.do !== "createClaim" && step.do !== "createJob" && step.do !== "createCluster") return undefined;
    if (hasEnded(snapshot)) return "the restore has ended";
    return isDeleting(snapshot) ? "the restore is being deleted" : undefined;
  },
};

/** No claim is made that nobody would delete, should the EtcdRestore go before it is filled. */
const heldFirst: RestoreGuard = {
  name: "held-first",
  forbids(snapshot, step) {
    return step.do === "createClaim" && !isHeld(snapshot)
      ? "nothing would delete the claim when the EtcdRestore goes"
      : undefined;
  },
};

/** Nothing is restored to where a cluster or its data is, nor where one has taken what was restored. */
const neverOver: RestoreGuard = {
  name: "never-over",
  forbids(snapshot, step) {
    if (step.do !== "createClaim" && step.do !== "createJob") return undefined;
    if (isComplete(snapshot) || wasComplete(snapshot))
      return "the claims are filled, and a cluster may have taken them";
    const lack = lackOfPlace(snapshot);
    if (lack !== undefined) return lack.message;
    if (step.do === "createClaim") return undefined;
    const claim = untoldClaims(snapshot).find(({ metadata }) => metadata.name === step.member);
    return claim === undefined ? `claim ${step.member} is not there` : undefined;
  },
};

/** A claim says whose data it holds only when all of them are filled, with the same, and with what members can read: a cluster takes them as they are. */
const toldLast: RestoreGuard = {
  name: "told-last",
  forbids(snapshot, step) {
    if (step.do !== "tellClaim") return undefined;
    if (isGivenUp(snapshot)) return "the restore was given up";
    if (isTaken(snapshot)) return "a cluster has taken the claims";
    if (isComplete(snapshot)) return undefined;
    if (wasComplete(snapshot)) return "a cluster may have lived on the claims";
    const lacking = snapshot.members.find((member) => !isWhole(snapshot, member));
    if (lacking !== undefined) return `claim ${lacking.name} is not filled`;
    return (lackOfPlace(snapshot) ?? lackOfSnapshot(snapshot))?.message;
  },
};

/** A cluster is made only of claims that all say that they are filled, and where none is. */
const wholeOnly: RestoreGuard = {
  name: "whole-only",
  forbids(snapshot, step) {
    if (step.do !== "createCluster") return undefined;
    const lacking = snapshot.members.find(({ claim }) => !isHandedOver(snapshot, claim));
    if (lacking !== undefined) return `claim ${lacking.name} is not filled`;
    return snapshot.cluster && `EtcdCluster ${snapshot.cluster.metadata.name} is there`;
  },
};

/** A claim is deleted only when the restore was given up, and while neither it nor a cluster says whose data it holds, nor the record that one may have. */
const nobodysData: RestoreGuard = {
  name: "nobodys-data",
  forbids(snapshot, step) {
    if (step.do !== "deleteClaim") return undefined;
    if (isTold(step.claim)) return `claim ${step.claim.metadata.name} holds data of a cluster`;
    return isGivenUp(snapshot) ? undefined : "the restore was not given up";
  },
};

/** These are the invariants of a restore. Each may hold back a step of any rule. */
export const RESTORE_GUARDS: readonly RestoreGuard[] = [
  ownOnly,
  onceOnly,
  heldFirst,
  neverOver,
  toldLast,
  wholeOnly,
  nobodysData,
];
