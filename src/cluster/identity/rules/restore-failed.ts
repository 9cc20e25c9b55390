import { RESTORED_FROM } from "#api/names.ts";
import { keptClaims } from "#cluster/identity/desired/identity.ts";
import { takenText } from "#cluster/owned.ts";
import { type ClusterSnapshot, identityOf, isOwned, restoredFrom } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Fallback when the EtcdRestore has no event, in milliseconds: a person has to act. */
const RECHECK_MS = 10_000;

/** Does not start a cluster empty after a failed restore: a user decides. */
export const restoreFailed: ClusterRule = {
  name: "restore-failed",
  decide(snapshot) {
    const { restore, cluster } = snapshot;
    if (identityOf(snapshot) !== undefined) return undefined;
    if (cluster.spec.bootstrap === undefined) return ofClaims(snapshot);
    if (restore === undefined) return undefined;
    const { name } = restore.metadata;
    if (!isOwned(snapshot, restore)) return wait(takenText(restore), RECHECK_MS, { warn: true });
    const why = restore.status?.conditions?.find(({ type }) => type === "Failed")?.message ?? "it states no reason";
    const because = `EtcdRestore ${name} has failed: ${why}; delete it to try again, or remove spec.bootstrap to start empty`;
    return wait(because, RECHECK_MS, { warn: true });
  },
};

/** For a cluster that an EtcdRestore created from claims that are gone, or that has a copied annotation. */
function ofClaims(snapshot: ClusterSnapshot) {
  const uid = restoredFrom(snapshot);
  if (uid === undefined || keptClaims(snapshot).length > 0) return undefined;
  const { name } = snapshot.cluster.metadata;
  const from = `the EtcdRestore with uid ${uid} (annotation ${RESTORED_FROM})`;
  const remedy = `restore once more, under another name or when this EtcdCluster is gone, or start empty: kubectl annotate etcdcluster ${name} ${RESTORED_FROM}-`;
  const because = `it is to start with the data of ${from}, and it has no claim with that data; ${remedy}`;
  return wait(because, RECHECK_MS, { warn: true });
}
