import { lackedReadiness, whyUnfit } from "#cluster/fitness.ts";
import { lacksOnlyPod } from "#cluster/learners.ts";
import { isHealthy, type KnownMember, knownMembers, takesPart } from "#cluster/members.ts";
import { isVouchedFor } from "#cluster/patience.ts";
import { isAtRest, REST_VOUCHED_MS } from "#cluster/rest.ts";
import { canary, hasGotNew, isComingUp } from "#cluster/rolling.ts";
import { waking } from "#cluster/sleep.ts";
import { type ClusterSnapshot, isPaused, type MemberHistory, peerNamed } from "#cluster/snapshot.ts";
import { runningRevision } from "#cluster/versions.ts";
import { type Key, keyText } from "#runtime/controller.ts";

/**
 * A look speaks for at most this much time before it, in milliseconds: longer than any rule waits between looks (10 s). Of a cluster at rest
 * nobody is counted, and it is looked at more rarely (rest.ts). The rest
 * of a longer gap neither counts nor erases what was counted: an operator that is busy gives a member up later, and does give it up.
 */
const VOUCHED_MS = 15_000;

/** What looks have found in a row, up to the last one; times in milliseconds. */
interface Noted {
  readonly known: Counted;
  readonly sick: Counted;
  readonly lost: Counted;
  readonly coming: WithSomethingNew;
  readonly silent: Counted;
  readonly unfit: Counted;
  readonly tried: WithSomethingNew;
  readonly podless: Counted;
  readonly unready: Counted;
  readonly wellAtMs: number | undefined;
}

/** What the last look at a cluster found. */
interface Look {
  readonly lookedAtMs: number;
  readonly members: ReadonlyMap<string, Noted>;
  /** Whether all was well, or asleep, and nobody's patience ran: see rest.ts. */
  readonly isSettled: boolean;
}

/** How long something has been so. */
interface Counted {
  readonly ms: number;
  /** Whether the last look was one of those that count. */
  readonly goesOn: boolean;
}

const NOTHING: Counted = { ms: 0, goesOn: false };

/** The same in pods that were made from what an update brings: it goes on from one to the next, and begins anew with something else. */
interface WithSomethingNew extends Counted {
  /** What they were made from. Nothing before it was restarted with anything. */
  readonly revision: string | undefined;
}

const NOTHING_NEW: WithSomethingNew = { ...NOTHING, revision: undefined };

/** Begins to count, goes on, or stands still, when this look does not count. */
function counted(before: Counted, sinceMs: number, counts = true): Counted {
  return counts ? { ms: before.ms + (before.goesOn ? sinceMs : 0), goesOn: true } : { ...before, goesOn: false };
}

/** @param revision what the member's pod was made from; without one it stands still */
function countedWith(revision: string | undefined, before: WithSomethingNew, sinceMs: number, counts: boolean) {
  if (!counts) return { ...before, goesOn: false };
  return { ...counted(before.revision === revision ? before : NOTHING, sinceMs), revision };
}

// Why in memory, and not in the status?
//   A record outlives looks that found the member well: while the operator was down, or could not write. And it is made with a
//   wall clock, which may be wrong on the node of the next operator. A process that starts anew counts anew: whoever
//   is lost is given up later, never too early.

/** What this process has seen of each member, look by look. A cache: a process that starts begins with nothing. */
export class HealthLog {
  readonly #clusters = new Map<string, Look>();
  #settled = 0;
  readonly #onGap: (ms: number) => void;

  /** @param onGap hears of time that no look speaks for, in milliseconds */
  constructor(onGap?: (ms: number) => void) {
    this.#onGap = onGap ?? (() => undefined);
  }

  /**
   * Notes what the snapshot tells of each member.
   * @param atMs monotonic: the wall clock may jump, and nobody is to be given up for that
   * @returns by member ID
   */
  look(key: Key, snapshot: ClusterSnapshot, atMs: number): ReadonlyMap<string, MemberHistory> {
    const before = this.#clusters.get(keyText(key));
    const passedMs = before === undefined ? 0 : atMs - before.lookedAtMs;
    const sinceMs = Math.min(passedMs, VOUCHED_MS);
    this.#tellGap(before, atMs);
    // In an outage a member that is lost cannot be told from one that waits for the others.
    const isEvidence = snapshot.members.is === "present" && !isPaused(snapshot);
    const members = new Map<string, Noted>();
    for (const member of knownMembers(snapshot)) {
      const last = before?.members.get(member.id);
      const isSick = !takesPart(snapshot, member);
      const isVouched = isSick && isVouchedFor(snapshot, member);
      const counts = isEvidence && peerNamed(snapshot, member.name) !== undefined;
      const isLost = isSick && !isVouched;
      const isUnfit = whyUnfit(snapshot, member) !== undefined;
      const withNew = (before = NOTHING_NEW, isCounted: boolean) =>
        countedWith(runningRevision(snapshot.pods.get(member.name)), before, sinceMs, isCounted);
      const coming = isLost ? withNew(last?.coming, counts && isComingUp(snapshot, member)) : NOTHING_NEW;
      members.set(member.id, {
        known: counted(last?.known ?? NOTHING, sinceMs, isEvidence && !lacksOnlyPod(snapshot, member)),
        sick: isSick ? counted(last?.sick ?? NOTHING, sinceMs) : NOTHING,
        lost: isLost
          ? counted(last?.lost ?? NOTHING, sinceMs, counts && !isAwaited(snapshot, member, coming))
          : NOTHING,
        coming,
        silent: isHealthy(snapshot, member) ? NOTHING : counted(last?.silent ?? NOTHING, sinceMs),
        unfit: isUnfit ? counted(last?.unfit ?? NOTHING, sinceMs) : NOTHING,
        tried: isUnfit ? withNew(last?.tried, hasGotNew(snapshot, member)) : NOTHING_NEW,
        podless: snapshot.pods.has(member.name) ? NOTHING : counted(last?.podless ?? NOTHING, sinceMs),
        unready:
          lackedReadiness(snapshot, member) === "beside etcd" ? counted(last?.unready ?? NOTHING, sinceMs) : NOTHING,
        wellAtMs: isSick ? last?.wellAtMs : atMs,
      });
    }
    this.#put(key, { lookedAtMs: atMs, members, isSettled: isAtRest(snapshot) });
    return new Map([...members].map(([id, noted]) => [id, historyOf(noted, atMs)]));
  }

  /** Notes that the member has been found to be well in another way, so that it is not lost. */
  vouch(key: Key, id: string): void {
    const cluster = this.#clusters.get(keyText(key));
    const noted = cluster?.members.get(id);
    if (cluster === undefined || noted === undefined) return;
    const members = new Map([...cluster.members, [id, { ...noted, lost: NOTHING, coming: NOTHING_NEW }]]);
    this.#clusters.set(keyText(key), { ...cluster, members });
  }

  /** Notes that a cluster at rest is as the last look found it: nobody's time runs. @param atMs monotonic */
  glanced(key: Key, atMs: number): void {
    const last = this.#clusters.get(keyText(key));
    if (last?.isSettled !== true) return;
    this.#tellGap(last, atMs);
    this.#put(key, { ...last, lookedAtMs: atMs });
  }

  /** Notes that the cluster sleeps: nobody's time runs, and who wakes up begins anew. @param atMs monotonic */
  slept(key: Key, snapshot: ClusterSnapshot, atMs: number): void {
    this.#put(key, { lookedAtMs: atMs, members: new Map(), isSettled: isAtRest(snapshot) });
  }

  forget(key: Key): void {
    this.#put(key, undefined);
  }

  /** How many clusters the last look at them found at rest. */
  get settled(): number {
    return this.#settled;
  }

  #tellGap(before: Look | undefined, atMs: number): void {
    if (before === undefined) return;
    const gapMs = atMs - before.lookedAtMs - (before.isSettled ? REST_VOUCHED_MS : VOUCHED_MS);
    if (gapMs > 0) this.#onGap(gapMs);
  }

  #put(key: Key, look: Look | undefined): void {
    const text = keyText(key);
    this.#settled += Number(look?.isSettled ?? false) - Number(this.#clusters.get(text)?.isSettled ?? false);
    if (look === undefined) this.#clusters.delete(text);
    else this.#clusters.set(text, look);
  }
}

// Why is the age of its pod not enough?
//   A pod may be made anew more often than a member may take to come up: evicted for want of disk, on a node that comes and goes. Each
//   would have all of that time, nobody would ever be given up, and the update would not end.

/** Who wakes up, or was restarted with something new, has its own time to come up, and is not lost before that is over. */
function isAwaited(snapshot: ClusterSnapshot, member: KnownMember, coming: WithSomethingNew): boolean {
  const isWaking = waking(snapshot).some(({ id }) => id === member.id);
  const hasTime = coming.ms < snapshot.memberTimeoutMs;
  return isWaking || canary(snapshot)?.id === member.id || (hasTime && isComingUp(snapshot, member));
}

function historyOf(noted: Noted, atMs: number): MemberHistory {
  const { known, sick, lost, silent, unfit, tried, podless, unready, wellAtMs } = noted;
  return {
    knownForMs: known.ms,
    sickForMs: sick.ms,
    lostForMs: lost.ms,
    silentForMs: silent.ms,
    unfitForMs: unfit.ms,
    triedForMs: tried.ms,
    podlessForMs: podless.ms,
    unreadyForMs: unready.ms,
    wellMsAgo: wellAtMs === undefined ? undefined : atMs - wellAtMs,
  };
}
