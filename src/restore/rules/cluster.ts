import { restoredCluster } from "#restore/desired/cluster.ts";
import { askingCluster } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { step, wait } from "#runtime/decide.ts";

/** Creates the EtcdCluster once every claim is identified: it adopts them like the claims of an earlier cluster. */
export const createCluster: RestoreRule = {
  name: "create-cluster",
  decide(snapshot) {
    if (snapshot.cluster !== undefined || askingCluster(snapshot) !== undefined) return undefined;
    const cluster = restoredCluster(snapshot);
    const because = `all claims are filled; EtcdCluster ${cluster.metadata.name} is created from them`;
    return step(because, { do: "createCluster", cluster });
  },
};

/** Recheck interval for the cluster's revision, in milliseconds; Ready has events of its own. */
const RECHECK_MS = 2_000;

/** Waits until the EtcdCluster is Ready and serves at least the revision with which its members start. */
export const awaitCluster: RestoreRule = {
  name: "await-cluster",
  decide(snapshot) {
    return wait(verdictOf(snapshot).message, RECHECK_MS);
  },
};
