import { RESTORE_GUARDS } from "#restore/guards.ts";
import {
  awaitClaims,
  createClaim,
  deleteClaims,
  endJob,
  endPod,
  fillClaim,
  identifyClaims,
  stopJobs,
} from "#restore/rules/claims.ts";
import { awaitCluster, createCluster } from "#restore/rules/cluster.ts";
import {
  clearJobs,
  deleting,
  ended,
  holdRestore,
  releaseRestore,
  restoreCompleted,
  restoreFailed,
} from "#restore/rules/life.ts";
import { awaitImage, awaitPlace, awaitSource } from "#restore/rules/source.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreRule, RestoreStep } from "#restore/step.ts";
import { decide, type Plan, type Resting } from "#runtime/decide.ts";

/** Rules of a restore. The first rule that decides wins, so the order is part of each rule. */
export const RESTORE_RULES: readonly RestoreRule[] = [
  identifyClaims, // Before `releaseRestore`: once one claim is identified, all must be, or no cluster can start with them.
  stopJobs, // Before `deleteClaims`: the Jobs' pods use the claims.
  deleteClaims, // Before `releaseRestore`: unused claims must not be left behind.
  releaseRestore,
  clearJobs, // Before `ended`, which leaves the restore alone.
  deleting, // Before everything that creates: nothing is created for an EtcdRestore that is being deleted.
  ended, // Before everything that starts work.
  restoreCompleted,
  restoreFailed, // Before every wait: a failed restore waits for nothing.
  awaitPlace, // Before anything is created: the cluster's name must be free.
  awaitSource, // Before the claims: none are created for a source that cannot be read.
  awaitImage, // Before the Jobs that run the image.
  holdRestore, // Before the first claim: without the finalizer nothing would delete it.
  createClaim, // Before the Jobs: their pods are scheduled with all claims in place.
  fillClaim,
  endPod, // Before the wait for the Job, which waits for the end of its pod.
  awaitClaims, // The rules below apply once all claims are filled.
  endJob, // Before the cluster: its pods need the claims.
  createCluster,
  awaitCluster,
];

/** Decides what to do about this snapshot. Pure and total. */
export function planRestore(snapshot: RestoreSnapshot, resting?: Resting<RestoreStep>): Plan<RestoreStep> {
  return decide(RESTORE_RULES, RESTORE_GUARDS, snapshot, resting);
}
