import { identityOf, isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Fallback when the EtcdRestore has no event, in milliseconds. */
const RECHECK_MS = 10_000;

/** A cluster that starts from a stored snapshot waits until its claims are filled; then it adopts them. */
export const awaitRestore: ClusterRule = {
  name: "await-restore",
  decide(snapshot) {
    const { restore, cluster } = snapshot;
    if (identityOf(snapshot) !== undefined || cluster.spec.bootstrap === undefined) return undefined;
    if (restore === undefined || !isOwned(snapshot, restore) || restore.status?.phase === "Failed") return undefined;
    const said = restore.status?.conditions?.find(({ type }) => type === "Complete")?.message;
    const because = `EtcdRestore ${restore.metadata.name} fills its claims: ${said ?? "it has not reported any progress yet"}`;
    return wait(because, RECHECK_MS);
  },
};
