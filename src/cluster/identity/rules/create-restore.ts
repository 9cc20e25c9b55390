import { isToSleep } from "#api/sleep.ts";
import { keptClaims } from "#cluster/identity/desired/identity.ts";
import { restoreFor } from "#cluster/identity/desired/restore.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Creates the EtcdRestore that fills the claims of a cluster that starts from a stored snapshot. Existing claims take
 * precedence.
 */
export const createRestore: ClusterRule = {
  name: "create-restore",
  holds: true,
  decide(snapshot) {
    const from = snapshot.cluster.spec.bootstrap?.fromBackup;
    if (identityOf(snapshot) !== undefined || from === undefined || isToSleep(snapshot.cluster)) return undefined;
    if (snapshot.restore !== undefined || keptClaims(snapshot).length > 0) return undefined;
    const because = `the cluster starts with the data of ${from.source.backupName === undefined ? "a stored snapshot" : `EtcdBackup ${from.source.backupName}`}`;
    return step(because, { do: "createRestore", restore: restoreFor(snapshot, from) });
  },
};
