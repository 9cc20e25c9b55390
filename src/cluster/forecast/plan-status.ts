import { editIn } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import { timesOf } from "#cluster/observe/spec-times.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { forecast } from "./forecast.ts";

/** Longest part of an edit that is repeated in the status, in characters. */
const MAX_EDIT = 1_000;
/**
 * Largest total size of spec and edit, in characters. A forecast processes both with each step and blocks the process
 * for that time. Larger: other clusters are delayed.
 */
const MAX_ASKED = 32_000;

/** The edit in the annotation, as written; `undefined` without one. */
export function askedIn({ cluster: { metadata } }: ClusterSnapshot): string | undefined {
  return metadata.deletionTimestamp === undefined ? metadata.annotations?.[DRY_RUN_ANNOTATION] : undefined;
}

/** The part of the edit that the status repeats. */
export function shown(edit: string): string {
  return edit.slice(0, MAX_EDIT);
}

/** The effect of the edit in the annotation; `undefined` without one. */
export function planStatus(snapshot: ClusterSnapshot): PlanStatus | undefined {
  const { cluster } = snapshot;
  const text = askedIn(snapshot);
  if (text === undefined) return undefined;
  const edit = shown(text);
  const size = text.length + JSON.stringify(cluster.spec).length;
  if (size > MAX_ASKED) {
    const message = `spec and the edit have ${size} characters together as JSON; there is no forecast with more than ${MAX_ASKED}`;
    return { edit, outcome: "Unforeseen", message };
  }
  const asked = editIn(cluster);
  if (asked === undefined) return undefined;
  if (asked.is === "refused")
    return { edit, outcome: "Refused", message: `metadata.annotations[${DRY_RUN_ANNOTATION}]: ${asked.why}` };
  const { spec } = asked;
  return {
    edit,
    ...forecast({
      ...snapshot,
      cluster: { ...cluster, spec },
      // From the defaults, not from the current times: the edit may remove a time from the spec.
      ...timesOf(spec, snapshot.defaultTimes),
    }),
  };
}
