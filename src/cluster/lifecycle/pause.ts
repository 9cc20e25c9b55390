import { pausedBy } from "#api/pause.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isAboutToRestart } from "#cluster/update/pending-restart.ts";

/**
 * Why the cluster is paused, and which members the pause has caught before a restart; `undefined` when it is not
 * paused. The budget may already require an extra pod for such a restart.
 */
export function pausedText(snapshot: ClusterSnapshot): string | undefined {
  const by = pausedBy(snapshot.cluster);
  if (by === undefined) return undefined;
  const pending = snapshot.peers.flatMap((peer) => (isAboutToRestart(snapshot, peer) ? [peer.metadata.name] : []));
  const caught = pending.map((name) => `; ${name} has yet to restart, and drains may have to wait for it`).join("");
  return `nothing is changed while ${by}${caught}`;
}
