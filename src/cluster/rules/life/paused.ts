import { PAUSED_ANNOTATION } from "#api/names.ts";
import { hasTurn } from "#cluster/rolling.ts";
import { type ClusterSnapshot, isPaused } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** A person has asked the operator to change nothing. It goes on looking and telling. */
export const paused: ClusterRule = {
  name: "paused",
  decide(snapshot) {
    if (!isPaused(snapshot)) return undefined;
    return wait("paused", pausedText(snapshot), 10_000);
  },
};

/** What a pause means, and whom it has caught: the budget may have made room for a restart that is put off now. */
export function pausedText(snapshot: ClusterSnapshot): string {
  const turned = snapshot.peers.flatMap((peer) => (hasTurn(snapshot, peer) ? [peer.metadata.name] : []));
  const caught = turned.map((name) => `; ${name} has yet to restart, and drains may have to wait for it`).join("");
  return `nothing is changed while the annotation ${PAUSED_ANNOTATION} is "true"${caught}`;
}
