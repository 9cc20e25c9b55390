import { pausedBy } from "#api/pause.ts";
import { isAboutToRestart } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** A person has asked the operator to change nothing. It goes on looking and telling. */
export const paused: ClusterRule = {
  name: "paused",
  decide(snapshot) {
    const because = pausedText(snapshot);
    return because === undefined ? undefined : wait("paused", because, 10_000);
  },
};

/** By what it is paused, and whom that has caught; `undefined` when it is not. The budget may have made room for a restart that is put off now. */
export function pausedText(snapshot: ClusterSnapshot): string | undefined {
  const by = pausedBy(snapshot.cluster);
  if (by === undefined) return undefined;
  const turned = snapshot.peers.flatMap((peer) => (isAboutToRestart(snapshot, peer) ? [peer.metadata.name] : []));
  const caught = turned.map((name) => `; ${name} has yet to restart, and drains may have to wait for it`).join("");
  return `nothing is changed while ${by}${caught}`;
}
