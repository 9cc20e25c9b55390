import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { arriving, health, leaderOf } from "#cluster/members.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * What a learner may take besides copying, in milliseconds: scheduling, pulling an image, attaching a volume.
 * Ten minutes is a guess, from slow clouds. Too small: data is copied for nothing. Too large: a stuck learner blocks the next one.
 */
const LEARNER_BASE_MS = 10 * 60_000;
/** How fast a learner copies at the least, in bytes per second: a slow disk behind a busy network. A guess. */
const COPY_BYTES_PER_SECOND = 5 * 1024 * 1024;

/** A learner that has not caught up by its deadline is taken back; a fresh one is tried afterwards. */
export const giveUpLearner: ClusterRule = {
  name: "give-up-learner",
  decide(snapshot) {
    for (const learner of arriving(snapshot)) {
      const peer = peerNamed(snapshot, learner.name);
      if (peer === undefined || peer.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined) continue;
      const deadlineMs = learnerDeadlineMs(snapshot);
      if ((snapshot.histories.get(learner.id)?.knownForMs ?? 0) <= deadlineMs) continue;
      const because = `${learner.name} has not caught up within ${Math.round(deadlineMs / 60_000)} min`;
      return step("give-up-learner", because, { do: "markRemoval", peer, removal: "replacement" });
    }
    return undefined;
  },
};

/** Sized by the leader's database. */
export function learnerDeadlineMs(snapshot: ClusterSnapshot): number {
  const leader = leaderOf(snapshot);
  const seen = leader === undefined ? undefined : health(snapshot, leader);
  const bytes = seen?.is === "healthy" ? seen.status.dbSizeBytes : 0;
  return LEARNER_BASE_MS + (bytes / COPY_BYTES_PER_SECOND) * 1_000;
}
