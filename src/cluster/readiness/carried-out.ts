import type { ConditionType, Reason } from "#api/conditions.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

/** The reason of condition Paused once this generation of the spec was seen carried out and healthy. */
export const NO_EDIT_WAITS = "NoEditWaits" satisfies Reason;

/**
 * Whether the status has this generation of the spec as carried out and healthy, in the last observation or an earlier
 * one of this pause.
 */
export function wasCarriedOut({ cluster: { metadata, status } }: Pick<ClusterSnapshot, "cluster">): boolean {
  const conditionOf = (type: ConditionType) =>
    status?.conditions?.find((each) => each.type === type && each.observedGeneration === metadata.generation);
  const paused = conditionOf("Paused");
  if (paused?.status === "True" && paused.reason === NO_EDIT_WAITS) return true;
  return conditionOf("Ready")?.status === "True";
}
