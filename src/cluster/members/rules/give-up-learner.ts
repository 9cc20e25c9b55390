import { answeringVoters, ownJoining } from "#cluster/members/learners.ts";
import type { KnownMember } from "#cluster/members/members.ts";
import { votersToReplace } from "#cluster/members/patience.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Time for a learner apart from copying (scheduling, pulling an image, attaching a volume), in milliseconds: a guess,
 * from slow clouds. Smaller: data is copied for nothing. Larger: a stuck learner blocks the next one.
 */
const LEARNER_BASE_MS = 10 * 60_000;
/**
 * The slowest expected copy rate, in bytes per second: a guess, for a slow disk behind a busy network. Smaller: a stuck
 * learner blocks the next one longer. Larger: a slow copy is aborted.
 */
const COPY_BYTES_PER_SECOND = 5 * 1024 * 1024;

// A learner that cannot start (no node has room, no volume, its node is away):
// - A new attempt may get a volume on another node, so the learner and its empty claim are replaced. Each attempt may
//   take as long as all before it together, at most six hours. The same holds for one that crashes repeatedly.
// - A learner waits while a quota or policy refuses its pod: the pod of a new learner would be refused, too. Its time
//   continues once it has a pod (knownForMs in snapshot.ts).
// - If a voter is lost in that time, a learner that cannot start is removed at once. Nothing else happens while a
//   member is joining. One that lacks only a pod is removed after ten minutes without it.

/** Removes a learner that has not caught up by its deadline; a new attempt follows. */
export const giveUpLearner: ClusterRule = {
  name: "give-up-learner",
  decide(snapshot) {
    for (const learner of ownJoining(snapshot)) {
      const peer = peerNamed(snapshot, learner.name);
      if (peer === undefined || learner.removal !== undefined) continue;
      const isUnused = learner.data.neverRan;
      const removal = isUnused ? "never-started" : learner.data.neverVoted ? "never-voted" : "replacement";
      const lost = votersToReplace(snapshot).find(({ id }) => id !== learner.id);
      if (lost !== undefined && (isUnused || waitsForPod(learner))) {
        const because = `${learner.name} has not started yet, and ${lost.name} is lost: ${lost.name} is replaced first`;
        return step(because, { do: "markRemoval", peer, removal });
      }
      if (!isOverdue(snapshot, learner)) continue;
      const what = learner.joining === "started" ? "did not become a voter" : "could not be started";
      const minutes = Math.round(deadlineMs(snapshot, learner) / 60_000);
      const because = `${learner.name} ${what} within ${minutes} min`;
      return step(because, { do: "markRemoval", peer, removal });
    }
    return undefined;
  },
};

function waitsForPod(learner: KnownMember): boolean {
  return learner.history.sickForMs > LEARNER_BASE_MS && learner.data.lacksOnlyPod;
}

/** Whether the learner has exceeded its deadline to become a voter. */
export function isOverdue(snapshot: ClusterSnapshot, learner: KnownMember): boolean {
  return learner.history.knownForMs > deadlineMs(snapshot, learner);
}

function deadlineMs(snapshot: ClusterSnapshot, learner: KnownMember): number {
  const isPatient = learner.joining === "notStarted" && votersToReplace(snapshot).length === 0;
  return Math.max(learnerDeadlineMs(snapshot), isPatient ? startDeadlineMs(learner) : 0);
}

/** The deadline of a learner, from the largest database that it has to copy. */
export function learnerDeadlineMs(snapshot: ClusterSnapshot): number {
  const bytes = Math.max(0, ...answeringVoters(snapshot).map(({ dbSizeBytes }) => dbSizeBytes));
  return LEARNER_BASE_MS + (bytes / COPY_BYTES_PER_SECOND) * 1_000;
}

/**
 * The longest time for a learner to start, in milliseconds: six hours, four attempts a day. Smaller: volumes are
 * created and data is copied more often in a long outage. Larger: a node with new room waits longer for the next
 * attempt.
 */
const LONGEST_START_MS = 6 * 3_600_000;

/** Duration of all earlier attempts together. Time without an attempt does not count. */
function startDeadlineMs(learner: KnownMember): number {
  return Math.min(LONGEST_START_MS, learner.history.earlierTriesMs);
}
