// How long may a process of a group assume that no process outside of it acts (group-lease.ts)? And that it is still on
// the group's roll?
//   A process outside of the group waits for the lease duration from when it first saw the newest version. So this
//   process needs a moment before which that version cannot have existed. That is when it sent that version itself, or
//   when it sent the last read that still returned the previous version.
//   The process that gives the lease back has seen no new renewal count of this process for the announced time. That is
//   longer than this process acts after sending it. This process relies on the count that is stored, which may be older
//   than the last one sent: others rely on it, too.
// What if a count is stored only after the last read of this process?
//   Then others wait longer than this process assumes.

/** All monotonic, in milliseconds. */
export interface Belief {
  /** When the last successful read was sent. */
  readonly askedMs: number;
  /** Until then no process outside of the group can have the lease. */
  readonly heldUntilMs: number;
  /** Until then no other process can have removed this one from the roll. */
  readonly onRollUntilMs: number;
}

/** A renewal count that this process has sent. */
export interface SentCount {
  /** Monotonic, in milliseconds. */
  readonly sentMs: number;
  /** For how long it permits this process to act from then on, in milliseconds. */
  readonly actsMs: number;
}

/** Sent counts by their number. */
export type SentCounts = ReadonlyMap<number, SentCount>;

/** Adds a sent count, and drops expired ones. */
export function sentCounts(before: SentCounts, count: number, sent: SentCount): SentCounts {
  const useful = [...before].filter(([, { sentMs, actsMs }]) => sentMs + actsMs > sent.sentMs);
  return new Map([...useful, [count, sent]]);
}

/** What a response of the API server showed. */
export interface Sight {
  /** When the request was sent, monotonic, in milliseconds. */
  readonly askedMs: number;
  readonly isHeldByGroup: boolean;
  /** Whether the version differs from the one seen before; false for the first one. */
  readonly isNew: boolean;
  /** The stored count of this process; undefined: none, or an expired one. */
  readonly own: SentCount | undefined;
}

export const NO_BELIEF: Belief = {
  askedMs: Number.NEGATIVE_INFINITY,
  heldUntilMs: Number.NEGATIVE_INFINITY,
  onRollUntilMs: Number.NEGATIVE_INFINITY,
};

/** @param renewDeadlineMs how long a renewal permits to act */
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

/** Whether the process may act now. */
export function isBelieved({ heldUntilMs, onRollUntilMs }: Belief, nowMs: number): boolean {
  return nowMs < heldUntilMs && nowMs < onRollUntilMs;
}

/**
 * Shortest mean interval between writes of all processes of a group, in milliseconds: an API server serializes the
 * writes of one object.
 */
const SPACING_MS = 900;
/**
 * Longest interval between the renewals of one process, in milliseconds: half of what one count can permit. Groups of
 * more than sixteen processes, which do not occur, write more often in total.
 */
const RAREST_MS = 15_000;

/** Interval between renewals of one process, in milliseconds. @param processes number on the roll */
export function countEveryMs(processes: number, renewEveryMs: number): number {
  return Math.min(RAREST_MS, Math.max(renewEveryMs, processes * SPACING_MS));
}

/** What a process knows of its own renewals. */
interface Counted {
  /** Monotonic, in milliseconds, like all of these. */
  readonly nowMs: number;
  /** When the last one was sent. */
  readonly lastSentMs: number;
  /** Whether that one is stored on the roll. */
  readonly isLastThere: boolean;
  /** Number of processes on the roll. */
  readonly processes: number;
}

/** Whether the process must renew now. */
export function isDue(belief: Belief, counted: Counted, { renewEveryMs, renewDeadlineMs }: Times): boolean {
  const { nowMs, lastSentMs, isLastThere, processes } = counted;
  const isQuiet = nowMs >= belief.heldUntilMs - renewDeadlineMs + 2 * renewEveryMs; // No process renews, so this one must.
  const isNext = nowMs - lastSentMs > countEveryMs(processes, renewEveryMs) - renewEveryMs;
  const isEnding = nowMs >= belief.onRollUntilMs - 2 * renewEveryMs; // It was sent when the group was smaller, and permits less.
  return isQuiet || isNext || isEnding || !isLastThere;
}

/** A count stays valid for this multiple of the renewal interval, within the limits below. */
const MISSED = 1.5;
const LONGEST_TERMS = 3;

/**
 * For how many terms a count permits to act, 1 to 3: in a large group renewals are rare. A term is the renew deadline
 * for the sender and the lease duration for observers, so others wait longer than the sender acts.
 */
export function termsOf(processes: number, { renewEveryMs, renewDeadlineMs }: Times): number {
  const neededMs = (1 + MISSED) * countEveryMs(processes, renewEveryMs);
  return Math.min(LONGEST_TERMS, Math.ceil(neededMs / renewDeadlineMs));
}

interface Times {
  readonly renewEveryMs: number;
  readonly renewDeadlineMs: number;
}

/** Tolerated delay of a count, in milliseconds. */
const LATE_MS = 5_000;

/**
 * A process without a new count for this long, in milliseconds, is assigned no work. Affects only how work is spread.
 */
export function aliveMs(processes: number, renewEveryMs: number): number {
  return countEveryMs(processes, renewEveryMs) + LATE_MS;
}
