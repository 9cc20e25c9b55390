import { controllerOf } from "#kube/kinds.ts";
import { lackOfPlace } from "#restore/place.ts";
import { fillingsOf, isWhole } from "#restore/pods.ts";
import {
  hasEnded,
  isComplete,
  isDeleting,
  isGivenUp,
  isHandedOver,
  isHeld,
  isIdentified,
  isOurs,
  isOwned,
  isTaken,
  unidentifiedClaims,
  wasComplete,
} from "#restore/snapshot.ts";
import { lackOfSnapshot } from "#restore/source.ts";
import type { RestoreGuard, RestoreStep } from "#restore/step.ts";

/**
 * What a kind of step creates; `place` writes to where a claim's data lies. A kind that is missing here does not
 * compile.
 */
const MAKES = {
  holdRestore: "nothing",
  releaseRestore: "nothing",
  createClaim: "place",
  createJob: "place",
  deleteJob: "nothing",
  deletePod: "nothing",
  identifyClaim: "nothing",
  deleteClaim: "nothing",
  createCluster: "cluster",
} as const satisfies Record<RestoreStep["do"], string>;

/** Refuses to delete a Job or its pod, or to change or delete a claim, of another owner. */
const ownOnly: RestoreGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (step.do === "deleteJob" && !isOwned(snapshot, step.job))
      return `Job ${step.job.metadata.name} does not belong to this restore`;
    if (step.do === "deletePod") {
      const jobs = fillingsOf(snapshot).map(({ job }) => job);
      if (!jobs.some(({ metadata }) => metadata.uid === controllerOf(step.pod)?.uid))
        return `pod ${step.pod.metadata.name} does not belong to a Job of this restore`;
    }
    if ((step.do === "identifyClaim" || step.do === "deleteClaim") && !isOurs(snapshot, step.claim))
      return `claim ${step.claim.metadata.name} does not belong to this restore`;
    return undefined;
  },
};

/** Refuses to create anything for a restore that has ended or is being deleted. */
const onceOnly: RestoreGuard = {
  name: "once-only",
  forbids(snapshot, step) {
    if (MAKES[step.do] === "nothing") return undefined;
    if (hasEnded(snapshot)) return "the restore has ended";
    return isDeleting(snapshot) ? "the restore is being deleted" : undefined;
  },
};

/**
 * Refuses to create a claim before the finalizer is set: nothing would delete it if the EtcdRestore were deleted first.
 */
const heldFirst: RestoreGuard = {
  name: "held-first",
  forbids(snapshot, step) {
    return step.do === "createClaim" && !isHeld(snapshot)
      ? "the EtcdRestore has no finalizer yet: nothing would delete the claim after it"
      : undefined;
  },
};

/** Refuses to restore over a cluster or its data, or after a cluster may have taken the restored claims. */
const neverOver: RestoreGuard = {
  name: "never-over",
  forbids(snapshot, step) {
    if (MAKES[step.do] !== "place") return undefined;
    if (isComplete(snapshot) || wasComplete(snapshot))
      return "the claims are filled, and a cluster may have taken them";
    const lack = lackOfPlace(snapshot);
    if (lack !== undefined) return lack.message;
    if (step.do !== "createJob") return undefined;
    const claim = unidentifiedClaims(snapshot).find(({ metadata }) => metadata.name === step.member);
    return claim === undefined ? `claim ${step.member} does not exist` : undefined;
  },
};

/**
 * Refuses to write identities to claims before all claims are filled with the same readable snapshot: clusters adopt
 * identified claims as they are.
 */
const identifiedLast: RestoreGuard = {
  name: "identified-last",
  forbids(snapshot, step) {
    if (step.do !== "identifyClaim") return undefined;
    if (isGivenUp(snapshot)) return "the restore was given up";
    if (isTaken(snapshot)) return "a cluster has taken the claims";
    if (isComplete(snapshot)) return undefined;
    if (wasComplete(snapshot)) return "a cluster may have used the claims";
    const lacking = snapshot.members.find((member) => !isWhole(snapshot, member));
    if (lacking !== undefined) return `claim ${lacking.name} is not filled`;
    return (lackOfPlace(snapshot) ?? lackOfSnapshot(snapshot))?.message;
  },
};

/** Refuses to create the cluster before every claim is filled and identified, or when a cluster exists. */
const wholeOnly: RestoreGuard = {
  name: "whole-only",
  forbids(snapshot, step) {
    if (step.do !== "createCluster") return undefined;
    const lacking = snapshot.members.find(({ claim }) => !isHandedOver(snapshot, claim));
    if (lacking !== undefined) return `claim ${lacking.name} is not filled`;
    return snapshot.cluster && `EtcdCluster ${snapshot.cluster.metadata.name} exists already`;
  },
};

/**
 * Refuses to delete a claim unless the restore is given up and no cluster uses it, according to the claim, the cluster
 * and the status.
 */
const nobodysData: RestoreGuard = {
  name: "unclaimed-data",
  forbids(snapshot, step) {
    if (step.do !== "deleteClaim") return undefined;
    if (isIdentified(step.claim)) return `claim ${step.claim.metadata.name} holds data of a cluster`;
    return isGivenUp(snapshot) ? undefined : "the restore was not given up";
  },
};

/** Invariants of a restore. Each can refuse a step of any rule. */
export const RESTORE_GUARDS: readonly RestoreGuard[] = [
  ownOnly,
  onceOnly,
  heldFirst,
  neverOver,
  identifiedLast,
  wholeOnly,
  nobodysData,
];
