import { idleSince, stateOf } from "#agent-job/job-state.ts";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { lackOfClaim } from "#backup/claim.ts";
import { isLost, storingPods } from "#backup/pods.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import { troubleOf } from "#backup/trouble.ts";
import { failureOf } from "#backup/verdict.ts";

/** Time for a pod to start before the delay is reported, in milliseconds: pulling an image takes a while. */
const QUIET_MS = 30_000;

/** Why the object still exists; `undefined` while its deletion makes progress. */
export function whyNotDeleted(snapshot: BackupSnapshot): string | undefined {
  const lack = lackOfDeletion(snapshot);
  return lack === undefined ? undefined : `${lack.reason}: ${lack.message}`;
}

function lackOfDeletion(snapshot: BackupSnapshot): Lack | undefined {
  const { removing } = snapshot;
  const lost = storingPods(snapshot).find((pod) => isLost(snapshot, pod));
  if (lost !== undefined) {
    const { name } = lost.metadata;
    const message = `pod ${name} should have ended and still exists, for example on a lost node; it may still store an object`;
    return { reason: "PodPending", message };
  }
  if (removing === undefined) return lackOfPlace(snapshot) ?? lackOfClaim(snapshot);
  if (stateOf(removing) === "failed") return failureOf(snapshot, removing);
  const trouble = troubleOf(snapshot, removing);
  const idleMs = snapshot.takenAtMs - (idleSince(removing) ?? snapshot.takenAtMs);
  const isUsual = trouble?.reason === "BackingUp" || (trouble?.reason === "PodPending" && idleMs < QUIET_MS);
  return isUsual ? undefined : trouble;
}

/** An object was stored, but the spec no longer has a valid destination. */
function lackOfPlace(snapshot: BackupSnapshot): Lack | undefined {
  const target = targetOf(snapshot);
  return typeof target === "string" ? { reason: "SpecRefused", message: target } : undefined;
}

/** What a user can do about an object that cannot be deleted. */
export function letGoText(snapshot: BackupSnapshot): string {
  const target = targetOf(snapshot);
  const url = typeof target === "string" ? "the object" : target.url;
  return `to delete the EtcdBackup and keep ${url}, set its annotation ${KEEP_OBJECT_ANNOTATION} to "true"`;
}
