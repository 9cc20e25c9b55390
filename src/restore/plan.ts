import { RESTORE_GUARDS } from "#restore/guards.ts";
import { awaitClaims } from "#restore/rules/claims/await-claims.ts";
import { createClaim } from "#restore/rules/claims/create-claim.ts";
import { deleteClaims } from "#restore/rules/claims/delete-claims.ts";
import { fillClaim } from "#restore/rules/claims/fill-claim.ts";
import { stopJobs } from "#restore/rules/claims/stop-jobs.ts";
import { tellClaims } from "#restore/rules/claims/tell-claims.ts";
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

/** This list is the behaviour of a restore: the first rule with an opinion wins, so its place here is part of each rule. */
export const RESTORE_RULES: readonly RestoreRule[] = [
  tellClaims, // It comes before the EtcdRestore may go: claims of which only some say whose they are help nobody.
  stopJobs, // It comes before the claims go that the Jobs fill.
  deleteClaims, // It comes before the EtcdRestore may go.
  releaseRestore,
  clearJobs, // It comes before the restore is left alone.
  deleting, // It comes before all that is made: nothing is made for an EtcdRestore that is being deleted.
  ended, // It comes before all that begins anything.
  restoreCompleted,
  restoreFailed, // It comes before all that waits: what has failed waits for nothing.
  awaitPlace, // It comes before anything is made: where somebody is, nothing is restored to.
  awaitSource, // It comes before the claims: of what cannot be read nothing is made.
  awaitImage, // It comes before the Jobs that run it.
  holdRestore, // It comes before the first claim: none is made that nobody would delete.
  createClaim, // It comes before the Jobs, so that all of them find who else is there.
  fillClaim,
  awaitClaims, // The rules below are for claims that are filled.
  createCluster,
  awaitCluster,
];

/** What is to be done about this snapshot. Pure and total. */
export function planRestore(snapshot: RestoreSnapshot, resting?: Resting<RestoreStep>): Plan<RestoreStep> {
  return decide(RESTORE_RULES, RESTORE_GUARDS, snapshot, resting);
}
