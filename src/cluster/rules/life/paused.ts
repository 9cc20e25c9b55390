import { PAUSED_ANNOTATION } from "#api/names.ts";
import { isPaused } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** A person has asked the operator to change nothing. It goes on looking and telling. */
export const paused: ClusterRule = {
  name: "paused",
  decide(snapshot) {
    if (!isPaused(snapshot)) return undefined;
    return wait("paused", `nothing is changed while the annotation ${PAUSED_ANNOTATION} is "true"`, 10_000);
  },
};
