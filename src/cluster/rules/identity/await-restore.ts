import { identityOf, isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** The EtcdRestore's events tell when its claims are filled; this is for events that never come, in milliseconds. */
const RECHECK_MS = 10_000;

/** Nothing of a cluster that begins with a stored snapshot is made before its claims say that they are filled: then it takes them. */
export const awaitRestore: ClusterRule = {
  name: "await-restore",
  decide(snapshot) {
    const { restore, cluster } = snapshot;
    if (identityOf(snapshot) !== undefined || cluster.spec.bootstrap === undefined) return undefined;
    if (restore === undefined || !isOwned(snapshot, restore) || restore.status?.phase === "Failed") return undefined;
    const said = restore.status?.conditions?.find(({ type }) => type === "Complete")?.message;
    const because = `EtcdRestore ${restore.metadata.name} fills its claims: ${said ?? "nothing is known of it yet"}`;
    return wait("await-restore", because, RECHECK_MS);
  },
};
