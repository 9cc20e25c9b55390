import type { ClusterRule } from "#cluster/step.ts";

/** A cluster that is being deleted is left alone: the garbage collector takes what it owns. Claims have no owner and stay. */
export const deleting: ClusterRule = {
  name: "deleting",
  decide({ cluster }) {
    return cluster.metadata.deletionTimestamp === undefined ? undefined : { next: "settled" };
  },
};
