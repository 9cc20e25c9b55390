import { RESTORE_GUARDS } from "#restore/guards.ts";
import { awaitClaims } from "#restore/rules/claims/await-claims.ts";
import { createClaim } from "#restore/rules/claims/create-claim.ts";
import { deleteClaims } from "#restore/rules/claims/delete-claims.ts";
import { fillClaim } from "#restore/rules/claims/fill-claim.ts";
import { identifyClaims } from "#restore/rules/claims/identify-claims.ts";
import { stopJobs } from "#restore/rules/claims/stop-jobs.ts";
import { awaitCluster } from "#restore/rules/cluster/await-cluster.ts";
import { createCluster } from "#restore/rules/cluster/create-cluster.ts";
import { clearJobs } from "#restore/rules/life/clear-jobs.ts";
import { deleting } from "#restore/rules/life/deleting.ts";
import { ended } from "#restore/rules/life/ended.ts";
import { holdRestore } from "#restore/rules/life/hold-restore.ts";
import { releaseRestore } from "#restore/rules/life/release-restore.ts";
import { restoreCompleted } from "#restore/rules/life/restore-completed.ts";
import { restoreFailed } from "#restore/rules/life/restore-failed.ts";
import { awaitImage } from "#restore/rules/source/await-image.ts";
import { awaitPlace } from "#restore/rules/source/await-place.ts";
import { awaitSource } from "#restore/rules/source/await-source.ts";
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
  awaitClaims, // The rules below apply once all claims are filled.
  createCluster,
  awaitCluster,
];

/** Decides what to do about this snapshot. Pure and total. */
export function planRestore(snapshot: RestoreSnapshot, resting?: Resting<RestoreStep>): Plan<RestoreStep> {
  return decide(RESTORE_RULES, RESTORE_GUARDS, snapshot, resting);
}
