import { restoredCluster } from "#restore/desired/cluster.ts";
import { askingCluster } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/** The EtcdCluster is made when every claim says whose data it holds: it takes them as those of a cluster that was there before. */
export const createCluster: RestoreRule = {
  name: "create-cluster",
  decide(snapshot) {
    if (snapshot.cluster !== undefined || askingCluster(snapshot) !== undefined) return undefined;
    const cluster = restoredCluster(snapshot);
    const because = `its claims are filled; EtcdCluster ${cluster.metadata.name} begins with them`;
    return step("create-cluster", because, { do: "createCluster", cluster });
  },
};
