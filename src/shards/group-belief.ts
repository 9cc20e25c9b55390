// For how long one process of a group may believe that nobody outside of it acts (group-lease.ts), and that it still counts as one of it.
//   Whoever is not of the group waits for a lease's time from when it first saw the newest version. So what counts is a moment before which
//   that version cannot have been there: when this process sent it itself, or when it asked for what still was the version before.
//   Whoever gives the lease back has seen no new count of this process for as long as that said, which is longer than it acts from sending it.
//   So a process goes by that of its counts that stands there, which need not be the one that it sent last: others go by it, too.
// And when it lands only after this process has looked for the last time? Then others wait for it longer than this one believes since that look.

/** All monotonic, in milliseconds. */
export interface Belief {
  /** When it was asked for what was seen last. */
  readonly askedMs: number;
  /** Until then nobody outside of the group can have the lease. */
  readonly heldUntilMs: number;
  /** Until then nobody can have struck this process out. */
  readonly onRollUntilMs: number;
}

/** A count that this process has sent. */
export interface SentCount {
  /** Monotonic, in milliseconds. */
  readonly sentMs: number;
  /** For how long it permits to act from then on, in milliseconds. */
  readonly actsMs: number;
}

/** By the count. */
export type SentCounts = ReadonlyMap<number, SentCount>;

/** What was sent, with one more; without what permits nothing any more. */
export function sentCounts(before: SentCounts, count: number, sent: SentCount): SentCounts {
  const useful = [...before].filter(([, { sentMs, actsMs }]) => sentMs + actsMs > sent.sentMs);
  return new Map([...useful, [count, sent]]);
}

/** What an answer of the API server showed. */
export interface Sight {
  /** When it was asked, monotonic, in milliseconds. */
  readonly askedMs: number;
  readonly isHeldByGroup: boolean;
  /** Whether it is another version than the one that was seen before it; the first one is not. */
  readonly isNew: boolean;
  /** The count that stands there of this process; undefined: none does, or one that permits nothing any more. */
  readonly own: SentCount | undefined;
}

export const NO_BELIEF: Belief = {
  askedMs: Number.NEGATIVE_INFINITY,
  heldUntilMs: Number.NEGATIVE_INFINITY,
  onRollUntilMs: Number.NEGATIVE_INFINITY,
};

/** @param renewDeadlineMs how long a renewal is believed in */
export function believed(before: Belief, sight: Sight, renewDeadlineMs: number): Belief {
  const { askedMs, isHeldByGroup, isNew, own } = sight;
  if (!isHeldByGroup) return { ...before, askedMs, heldUntilMs: Number.NEGATIVE_INFINITY };
  if (own === undefined) return { ...before, askedMs, onRollUntilMs: Number.NEGATIVE_INFINITY };
  const until = [
    before.heldUntilMs,
    own.sentMs + renewDeadlineMs,
    ...(isNew ? [before.askedMs + renewDeadlineMs] : []),
  ];
  return { askedMs, heldUntilMs: Math.max(...until), onRollUntilMs: own.sentMs + own.actsMs };
}

/** Whether it may act at this moment. */
export function isBelieved({ heldUntilMs, onRollUntilMs }: Belief, nowMs: number): boolean {
  return nowMs < heldUntilMs && nowMs < onRollUntilMs;
}

/** All of a group count no more often together than once in this time, in milliseconds: an API server takes the writes of one object one after the other. */
const SPACING_MS = 900;
/** Nobody counts more rarely, in milliseconds: it is half of what one count can permit. More than sixteen processes, of which no more lead, write more often together. */
const RAREST_MS = 15_000;

/** Between two counts of one process, in milliseconds. @param processes how many are on the roll */
export function countEveryMs(processes: number, renewEveryMs: number): number {
  return Math.min(RAREST_MS, Math.max(renewEveryMs, processes * SPACING_MS));
}

/** What a process knows of its own counts. */
interface Counted {
  /** Monotonic, in milliseconds, as all of these. */
  readonly nowMs: number;
  /** When the last one was sent. */
  readonly lastSentMs: number;
  /** Whether that one stands on the roll. */
  readonly isLastThere: boolean;
  /** How many are on the roll. */
  readonly processes: number;
}

/** Whether it is to count on. */
export function isDue(belief: Belief, counted: Counted, { renewEveryMs, renewDeadlineMs }: Times): boolean {
  const { nowMs, lastSentMs, isLastThere, processes } = counted;
  const isQuiet = nowMs >= belief.heldUntilMs - renewDeadlineMs + 2 * renewEveryMs; // Whoever else there is, nobody renews.
  const isNext = nowMs - lastSentMs > countEveryMs(processes, renewEveryMs) - renewEveryMs;
  const isEnding = nowMs >= belief.onRollUntilMs - 2 * renewEveryMs; // It was sent when they were fewer, and permits less.
  return isQuiet || isNext || isEnding || !isLastThere;
}

/** So many times may a count be missed before it ends what it permits, where that can be. */
const MISSED = 1.5;
const LONGEST_TERMS = 3;

/**
 * For how many terms a count permits to act, 1 to 3: in a large group one is sent only after a while. A term is the renew deadline for who has sent it, and the lease's time
 * for who has seen it: so others wait longer than it acts.
 */
export function termsOf(processes: number, { renewEveryMs, renewDeadlineMs }: Times): number {
  const neededMs = (1 + MISSED) * countEveryMs(processes, renewEveryMs);
  return Math.min(LONGEST_TERMS, Math.ceil(neededMs / renewDeadlineMs));
}

interface Times {
  readonly renewEveryMs: number;
  readonly renewDeadlineMs: number;
}

/** So late may a count be, in milliseconds. */
const LATE_MS = 5_000;

/** Who has not counted on for so long is not counted on for work, in milliseconds. Nothing but how work is spread depends on it. */
export function aliveMs(processes: number, renewEveryMs: number): number {
  return countEveryMs(processes, renewEveryMs) + LATE_MS;
}
