import { endJobOf, endPodOf } from "#agent-job/endings.ts";
import { lingeringPod } from "#agent-job/job-state.ts";
import { restoreJob } from "#restore/desired/job.ts";
import { restoredClaim } from "#restore/desired/member.ts";
import { identityAnnotations } from "#restore/identity.ts";
import { objectOf } from "#restore/object.ts";
import { fillingsOf, isWhole } from "#restore/pods.ts";
import {
  isComplete,
  isGivenUp,
  isIdentified,
  isOurs,
  isStaying,
  isTaken,
  type RestoreSnapshot,
  unidentifiedClaims,
} from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { step, wait } from "#runtime/decide.ts";

/**
 * Writes the identity of cluster and member to each claim once all claims are filled and stay: the last write to them.
 * A cluster adopts the claims only when all are identified, so this also completes for an EtcdRestore that fails or is
 * being deleted.
 */
export const identifyClaims: RestoreRule = {
  name: "identify-claims",
  holds: true,
  decide(snapshot) {
    if (snapshot.restore.status?.phase === "Completed" || isGivenUp(snapshot) || isTaken(snapshot)) return undefined;
    if (!isComplete(snapshot) && !areWhole(snapshot)) return undefined;
    const next = snapshot.members.find(
      ({ claim }) => isStaying(claim) && isOurs(snapshot, claim) && !isIdentified(claim),
    );
    if (next?.claim === undefined) return undefined;
    const because = `all claims are filled; the identity of the member is written to claim ${next.name}`;
    const annotations = identityAnnotations(snapshot.restore, next.name);
    return step(because, { do: "identifyClaim", claim: next.claim, annotations });
  },
};

function areWhole(snapshot: RestoreSnapshot): boolean {
  return snapshot.members.every((member) => isWhole(snapshot, member)) && verdictOf(snapshot).phase !== "Failed";
}

/**
 * Ends the Jobs of a restore that was given up before its claims are deleted. A Job that failed is kept for a while for
 * its log.
 */
export const stopJobs: RestoreRule = {
  name: "stop-jobs",
  holds: true,
  decide(snapshot) {
    return isGivenUp(snapshot) ? endJobOf(fillingsOf(snapshot), "the restore was given up") : undefined;
  },
};

/**
 * Deletes the claims of a restore that was given up: no cluster uses them. Kubernetes delays the deletion while pods
 * still use them.
 */
export const deleteClaims: RestoreRule = {
  name: "delete-claims",
  holds: true,
  decide(snapshot) {
    if (!isGivenUp(snapshot)) return undefined;
    const claim = unidentifiedClaims(snapshot).find(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (claim === undefined) return undefined;
    const because = `the restore was given up; claim ${claim.metadata.name}, which no cluster uses, is deleted`;
    return step(because, { do: "deleteClaim", claim });
  },
};

/** Creates each member's claim before anything is read. The claim has no identity yet. */
export const createClaim: RestoreRule = {
  name: "create-claim",
  decide(snapshot) {
    if (isComplete(snapshot)) return undefined;
    const next = snapshot.members.find(({ claim }) => claim === undefined);
    if (next === undefined) return undefined;
    const because = `the snapshot is restored to one claim per member; ${next.name} is missing`;
    return step(because, { do: "createClaim", claim: restoredClaim(snapshot, next.name) });
  },
};

/**
 * Creates a Job per claim, on a node where the member can run; it retries when its pod is lost. All Jobs run in
 * parallel.
 */
export const fillClaim: RestoreRule = {
  name: "fill-claim",
  decide(snapshot) {
    const { agentImage } = snapshot;
    const object = objectOf(snapshot);
    if (isComplete(snapshot) || agentImage === undefined || typeof object === "string") return undefined;
    const next = snapshot.members.find(({ claim, filling }) => filling === undefined && claim !== undefined);
    if (next === undefined) return undefined;
    const job = restoreJob(snapshot, next, object, agentImage);
    const because = `claim ${next.name} is filled with the snapshot ${object.target.url}`;
    return step(because, { do: "createJob", job, member: next.name });
  },
};

/** Deletes a pod in which only a container of a webhook still runs, after a failure that a retry may mend. The Job creates the next pod. */
export const endPod: RestoreRule = {
  name: "end-pod",
  decide(snapshot) {
    return endPodOf(fillingsOf(snapshot));
  },
};

/** Deletes a Job that has filled its claim while an added container keeps its pod running. Until the pod ends, no other node can attach the claim. */
export const endJob: RestoreRule = {
  name: "end-job",
  decide(snapshot) {
    const lingering = fillingsOf(snapshot).filter((each) => lingeringPod(each) !== undefined);
    return endJobOf(lingering, "the claims are filled");
  },
};

/** Recheck interval for Kubernetes' warning events, in milliseconds; Jobs and pods have events of their own. */
const RECHECK_MS = 10_000;

/** Waits for the Jobs, and shows what keeps their pods from running. */
export const awaitClaims: RestoreRule = {
  name: "await-claims",
  decide(snapshot) {
    if (isComplete(snapshot)) return undefined;
    const { reason, message } = verdictOf(snapshot);
    const isTrouble = ["PodRefused", "SecretMissing", "ImageUnavailable", "Retrying"].includes(reason);
    return wait(message, RECHECK_MS, { warn: isTrouble });
  },
};
