import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { identityOf, isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Somebody has to do something; its events tell when that is done. In milliseconds. */
const RECHECK_MS = 10_000;

/** A cluster that was to begin with a stored snapshot, and cannot, is not begun with nothing: a person decides. */
export const restoreFailed: ClusterRule = {
  name: "restore-failed",
  decide(snapshot) {
    const { restore, cluster } = snapshot;
    if (identityOf(snapshot) !== undefined || cluster.spec.bootstrap === undefined || restore === undefined)
      return undefined;
    const { name } = restore.metadata;
    if (!isOwned(snapshot, restore)) return wait("restore-failed", takenText(restore), RECHECK_MS, { warn: true });
    const why = restore.status?.conditions?.find(({ type }) => type === "Failed")?.message ?? "it does not say why";
    const because = `EtcdRestore ${name} has failed: ${why}; delete it to have it tried again, or take spec.bootstrap away to begin with nothing`;
    return wait("restore-failed", because, RECHECK_MS, { warn: true });
  },
};
