import type { ConditionType, Reason } from "#api/conditions.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

/** The reason of Paused from when this generation of the spec was seen to be there and healthy. */
export const NO_EDIT_WAITS = "NoEditWaits" satisfies Reason;

/** Whether this generation of the spec was seen to be there and healthy, by the status: by the last look, or by an earlier one of this pause. */
export function wasCarriedOut({ cluster: { metadata, status } }: Pick<ClusterSnapshot, "cluster">): boolean {
  const told = (type: ConditionType) =>
    status?.conditions?.find((each) => each.type === type && each.observedGeneration === metadata.generation);
  const [paused, upToDate] = [told("Paused"), told("UpToDate")];
  if (paused?.status === "True" && paused.reason === NO_EDIT_WAITS) return true;
  // An operator of before called a cluster Ready of which people restart the members, while they had yet to be given what an edit asks for.
  const isLeft = upToDate?.status === "False" && upToDate.reason === "Paused";
  return told("Ready")?.status === "True" && !isLeft;
}
