import { answeringVoters, lacksOnlyPod, neverRan, ownArriving } from "#cluster/learners.ts";
import { isLeaving, type KnownMember, ownVoters, takesPart } from "#cluster/members.ts";
import { givenUp } from "#cluster/patience.ts";
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

// What of a learner that cannot even start: no node has room, its volume does not come, its node is away for a weekend?
//   Another one may be luckier: its volume may come to lie on another node. So it is moved, with its claim, which never held
//   data. But not every ten minutes for ever: each try may last as long as all those before it together, counted from the moment
//   when the cluster was last whole (Ready), and six hours at the most. The same goes for one that starts and ends again and again.
// And what of one whose pod may not be made, because of a quota or a policy?
//   It waits: nobody else would get a pod either. Its time goes on when it has one (knownForMs in snapshot.ts).
// And when a voter is lost meanwhile?
//   Whoever cannot start makes room at once: nothing else is done while a member is on its way, and the lost one comes first. Who lacks
//   only a pod may have it in a moment, and makes room when it has been without for long.

/** A learner that has not caught up by its deadline is taken back; a fresh one is tried afterwards. */
export const giveUpLearner: ClusterRule = {
  name: "give-up-learner",
  decide(snapshot) {
    for (const learner of ownArriving(snapshot)) {
      const peer = peerNamed(snapshot, learner.name);
      if (peer === undefined || isLeaving(snapshot, learner.name)) continue;
      const isUnused = neverRan(snapshot, learner);
      const removal = isUnused ? "never-started" : "replacement";
      const lost = givenUp(snapshot).find(({ id }) => id !== learner.id);
      if (lost !== undefined && (isUnused || waitsForPod(snapshot, learner))) {
        const because = `${learner.name} could not be started yet, and ${lost.name} is lost: that comes first`;
        return step("give-up-learner", because, { do: "markRemoval", peer, removal });
      }
      if (!isOverdue(snapshot, learner)) continue;
      const what = hasStarted(snapshot, learner) ? "has not got its vote" : "could not be started";
      const minutes = Math.round(deadlineMs(snapshot, learner) / 60_000);
      const because = `${learner.name} ${what} within ${minutes} min`;
      return step("give-up-learner", because, { do: "markRemoval", peer, removal });
    }
    return undefined;
  },
};

function waitsForPod(snapshot: ClusterSnapshot, learner: KnownMember): boolean {
  const history = snapshot.histories.get(learner.id);
  return history !== undefined && history.sickForMs > LEARNER_BASE_MS && lacksOnlyPod(snapshot, learner);
}

/** Whether the learner has been known for longer than it may take to get its vote. */
export function isOverdue(snapshot: ClusterSnapshot, learner: KnownMember): boolean {
  return (snapshot.histories.get(learner.id)?.knownForMs ?? 0) > deadlineMs(snapshot, learner);
}

function deadlineMs(snapshot: ClusterSnapshot, learner: KnownMember): number {
  const isPatient = !hasStarted(snapshot, learner) && givenUp(snapshot).length === 0;
  return Math.max(learnerDeadlineMs(snapshot), isPatient ? startDeadlineMs(snapshot) : 0);
}

function hasStarted(snapshot: ClusterSnapshot, learner: KnownMember): boolean {
  return learner.hasStarted || takesPart(snapshot, learner);
}

/** Sized by the largest database that has to be copied. */
export function learnerDeadlineMs(snapshot: ClusterSnapshot): number {
  const bytes = Math.max(0, ...answeringVoters(snapshot).map(({ dbSizeBytes }) => dbSizeBytes));
  return LEARNER_BASE_MS + (bytes / COPY_BYTES_PER_SECOND) * 1_000;
}

/** The most that a learner may take until it has started, in milliseconds. */
const LONGEST_START_MS = 6 * 3_600_000;

/** Half of the time since the cluster was last whole: as long as all tries before this one took. Nobody tried anything while it slept. */
function startDeadlineMs(snapshot: ClusterSnapshot): number {
  const { cluster, takenAtMs } = snapshot;
  const ready = cluster.status?.conditions?.find(({ type }) => type === "Ready");
  const sinceMs = ready === undefined || ready.status === "True" ? 0 : takenAtMs - Date.parse(ready.lastTransitionTime);
  return Math.min(LONGEST_START_MS, sinceMs / 2, runningForMs(snapshot) / 2);
}

/** For how long somebody has run for certain, in milliseconds: the age of the oldest pod of a voter. That the cluster slept before is not on record for ever. */
function runningForMs(snapshot: ClusterSnapshot): number {
  const made = ownVoters(snapshot).map(({ name }) => snapshot.pods.get(name)?.metadata.creationTimestamp ?? "");
  const times = made.map((time) => Date.parse(time)).filter((time) => !Number.isNaN(time));
  return Math.abs(snapshot.takenAtMs - Math.min(...times));
}
