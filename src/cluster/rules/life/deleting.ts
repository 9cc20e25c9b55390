import type { ClusterRule } from "#cluster/step.ts";

/** The garbage collector takes what the cluster owns. Claims have no owner and stay. */
export const deleting: ClusterRule = {
  name: "deleting",
  decide({ cluster }) {
    return cluster.metadata.deletionTimestamp === undefined ? undefined : { next: "settled" };
  },
};
