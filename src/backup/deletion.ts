import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { lackOfClaim } from "#backup/claim.ts";
import { conditionOf, idleSince, isLost, stateOf, storingPods } from "#backup/job-state.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import { troubleOf } from "#backup/trouble.ts";
import { failureOf } from "#backup/verdict.ts";
import type { Job } from "#kube/kinds.ts";

/** When the Job was given up, in milliseconds since 1970. */
export function deletionFailedAtMs({ metadata, status }: Job): number {
  return Date.parse(conditionOf(status, "Failed")?.lastTransitionTime ?? metadata.creationTimestamp ?? "");
}

/** So long, in milliseconds, a pod may take to start before that is told as trouble: images take their time. */
const QUIET_MS = 30_000;

/** Why the object is still there; `undefined` while its deletion goes on as it should. */
export function whyNotDeleted(snapshot: BackupSnapshot): string | undefined {
  const lack = lackOfDeletion(snapshot);
  return lack === undefined ? undefined : `${lack.reason}: ${lack.message}`;
}

function lackOfDeletion(snapshot: BackupSnapshot): Lack | undefined {
  const { removing } = snapshot;
  const lost = storingPods(snapshot).find((pod) => isLost(snapshot, pod));
  if (lost !== undefined) {
    const { name } = lost.metadata;
    const message = `pod ${name} was to end and is still there, such as on a node that is lost, and may store something`;
    return { reason: "PodPending", message };
  }
  if (removing === undefined) return lackOfPlace(snapshot) ?? lackOfClaim(snapshot);
  if (stateOf(removing.job) === "failed") return failureOf(snapshot, removing);
  const trouble = troubleOf(snapshot, removing);
  const idleMs = snapshot.takenAtMs - (idleSince(removing) ?? snapshot.takenAtMs);
  const isUsual = trouble?.reason === "BackingUp" || (trouble?.reason === "PodPending" && idleMs < QUIET_MS);
  return isUsual ? undefined : trouble;
}

/** An object was stored, and where, the spec says in words that are not understood any more. */
function lackOfPlace(snapshot: BackupSnapshot): Lack | undefined {
  const target = targetOf(snapshot);
  return typeof target === "string" ? { reason: "SpecRefused", message: target } : undefined;
}

/** What a person can do about an object that is not deleted. */
export function letGoText(snapshot: BackupSnapshot): string {
  const target = targetOf(snapshot);
  const url = typeof target === "string" ? "the object" : target.url;
  return `to let the EtcdBackup go and keep ${url}, set its annotation ${KEEP_OBJECT_ANNOTATION} to "true"`;
}
