import { RESTORED_FROM } from "#api/names.ts";
import { keptClaims } from "#cluster/desired/identity.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { type ClusterSnapshot, identityOf, isOwned, restoredFrom } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Somebody has to do something; its events tell when that is done. In milliseconds. */
const RECHECK_MS = 10_000;

/** A cluster that was to begin with a stored snapshot, and cannot, is not begun with nothing: a person decides. */
export const restoreFailed: ClusterRule = {
  name: "restore-failed",
  decide(snapshot) {
    const { restore, cluster } = snapshot;
    if (identityOf(snapshot) !== undefined) return undefined;
    if (cluster.spec.bootstrap === undefined) return ofClaims(snapshot);
    if (restore === undefined) return undefined;
    const { name } = restore.metadata;
    if (!isOwned(snapshot, restore)) return wait("restore-failed", takenText(restore), RECHECK_MS, { warn: true });
    const why = restore.status?.conditions?.find(({ type }) => type === "Failed")?.message ?? "it does not say why";
    const because = `EtcdRestore ${name} has failed: ${why}; delete it to have it tried again, or take spec.bootstrap away to begin with nothing`;
    return wait("restore-failed", because, RECHECK_MS, { warn: true });
  },
};

/** Of the one that an EtcdRestore has made: it was made of claims, and those are gone. So it is of an annotation that somebody has copied. */
function ofClaims(snapshot: ClusterSnapshot) {
  const uid = restoredFrom(snapshot);
  if (uid === undefined || keptClaims(snapshot).length > 0) return undefined;
  const { name } = snapshot.cluster.metadata;
  const from = `the EtcdRestore with uid ${uid} has restored, as its annotation ${RESTORED_FROM} says`;
  const remedy = `restore once more, under another name or when this EtcdCluster is gone, or have it begin with nothing: kubectl annotate etcdcluster ${name} ${RESTORED_FROM}-`;
  const because = `it is to begin with what ${from}, and no claim of it is there; ${remedy}`;
  return wait("restore-failed", because, RECHECK_MS, { warn: true });
}
