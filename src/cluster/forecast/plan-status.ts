import { editIn } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import { forecast } from "#cluster/forecast/forecast.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { timesOf } from "#cluster/spec-times.ts";

/** Of the edit so much is repeated, in characters. */
const MAX_EDIT = 1_000;
/** Spec and edit have at most so many characters together: a forecast goes through both with each step, and nobody else is served then. */
const MAX_ASKED = 32_000;

/** The edit that is to be explained, as it was written; `undefined` when nobody asks. */
export function askedIn({ cluster: { metadata } }: ClusterSnapshot): string | undefined {
  return metadata.deletionTimestamp === undefined ? metadata.annotations?.[DRY_RUN_ANNOTATION] : undefined;
}

/** So much of an edit as is repeated. */
export function shown(edit: string): string {
  return edit.slice(0, MAX_EDIT);
}

/** What the edit in the annotation would cause; `undefined` when nobody asks. */
export function planStatus(snapshot: ClusterSnapshot): PlanStatus | undefined {
  const { cluster } = snapshot;
  const text = askedIn(snapshot);
  if (text === undefined) return undefined;
  const edit = shown(text);
  const size = text.length + JSON.stringify(cluster.spec).length;
  if (size > MAX_ASKED) {
    const message = `spec and the edit have ${size} characters together as JSON; with more than ${MAX_ASKED} nothing is foretold`;
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
      // Not from the times that count by now: an edit may take away what the spec says of them.
      ...timesOf(spec, snapshot.defaultTimes),
    }),
  };
}
