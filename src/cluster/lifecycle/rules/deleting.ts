import type { ClusterRule } from "#cluster/step.ts";

/**
 * Leaves a cluster alone that is being deleted: the garbage collector deletes what it owns. Claims have no owner and
 * stay.
 */
export const deleting: ClusterRule = {
  name: "deleting",
  decide({ cluster }) {
    return cluster.metadata.deletionTimestamp === undefined ? undefined : { next: "settled" };
  },
};
