import { expect, test } from "vitest";
import {
  aliveMs,
  type Belief,
  believed,
  countEveryMs,
  isBelieved,
  isDue,
  NO_BELIEF,
  type Sight,
  sentCounts,
  termsOf,
} from "./group-belief.ts";

const BEFORE: Belief = { askedMs: 1_000, heldUntilMs: 9_000, onRollUntilMs: 18_000 };
const SIGHT: Sight = {
  askedMs: 3_000,
  isHeldByGroup: true,
  isNew: false,
  own: { sentMs: -12_000, actsMs: 30_000 },
};
const LOST = Number.NEGATIVE_INFINITY;

test.each<[string, Partial<Sight>, Partial<Belief>]>([
  ["an unchanged resourceVersion extends no time", {}, {}],
  ["a new resourceVersion extends the group's time from the previous read", { isNew: true }, { heldUntilMs: 11_000 }],
  [
    "a process's own stored count extends its time from when it was sent",
    { own: { sentMs: 2_000, actsMs: 30_000 } },
    { heldUntilMs: 12_000, onRollUntilMs: 32_000 },
  ],
  [
    "the later time is used when both the resourceVersion and its own count extend it",
    { isNew: true, own: { sentMs: 500, actsMs: 30_000 } },
    { heldUntilMs: 11_000, onRollUntilMs: 30_500 },
  ],
  [
    "an older count of its own that is stored again shortens its time",
    { own: { sentMs: -5_000, actsMs: 10_000 } },
    { onRollUntilMs: 5_000 },
  ],
  [
    "a process that is missing from the roll may no longer act, whatever others renew",
    { isNew: true, own: undefined },
    { onRollUntilMs: LOST },
  ],
  [
    "a process may no longer act when another group holds the lease",
    { isHeldByGroup: false, isNew: true },
    { heldUntilMs: LOST },
  ],
  [
    "a process may no longer act when another group holds the lease, even with its own count stored",
    { isHeldByGroup: false, own: { sentMs: 2_000, actsMs: 30_000 } },
    { heldUntilMs: LOST },
  ],
])("until when a process may act after a read: %s", (_title, sight, expected) => {
  expect(believed(BEFORE, { ...SIGHT, ...sight }, 10_000)).toEqual({ ...BEFORE, askedMs: 3_000, ...expected });
});

test("the first read of a lease does not let a process act", () => {
  const belief = believed(NO_BELIEF, { ...SIGHT, own: undefined }, 10_000);
  expect(isBelieved(belief, 0)).toBe(false);
  expect(belief.askedMs).toBe(3_000);
});

test.each([
  ["just before the first one expires", 9_999, [1, 2, 3]],
  ["when the first one expires", 10_000, [2, 3]],
])("sent counts are remembered until they expire: %s", (_when, sentMs, expected) => {
  const before = sentCounts(sentCounts(new Map(), 1, { sentMs: 0, actsMs: 10_000 }), 2, { sentMs: 1, actsMs: 10_000 });
  const sent = sentCounts(before, 3, { sentMs, actsMs: 20_000 });
  expect([...sent.keys()]).toEqual(expected);
  expect(sent.get(3)).toEqual({ sentMs, actsMs: 20_000 });
});

test.each([
  ["before both times end", 4_999, { heldUntilMs: 5_000, onRollUntilMs: 5_000 }, true],
  ["not when no process has renewed in time", 5_000, { heldUntilMs: 5_000, onRollUntilMs: 6_000 }, false],
  ["not when it has not renewed in time itself", 5_000, { heldUntilMs: 6_000, onRollUntilMs: 5_000 }, false],
])("whether a process may act: %s", (_title, nowMs, until, expected) => {
  expect(isBelieved({ askedMs: 0, ...until }, nowMs)).toBe(expected);
});

const TIMES = { renewEveryMs: 2_000, renewDeadlineMs: 10_000 };
const COUNTED = { nowMs: 10_000, lastSentMs: 4_800, isLastThere: true, processes: 8 };
test.each<[string, Partial<Belief>, Partial<typeof COUNTED>, boolean]>([
  ["not before its interval ends", {}, {}, false],
  ["when its interval ends before the next read", {}, { lastSentMs: 4_799 }, true],
  ["earlier in a smaller group", {}, { processes: 7 }, true],
  ["when it has not renewed yet", {}, { lastSentMs: LOST }, true],
  ["when its last renewal is not stored", {}, { isLastThere: false }, true],
  ["when the last renewal of the group is four seconds old", { heldUntilMs: 16_000 }, {}, true],
  ["not when the last renewal of the group is more recent", { heldUntilMs: 16_001 }, {}, false],
  ["when it may act for only four more seconds", { onRollUntilMs: 14_000 }, {}, true],
  ["not when it may act for longer", { onRollUntilMs: 14_001 }, {}, false],
])("whether a process must renew: %s", (_title, belief, counted, expected) => {
  const all = { askedMs: 0, heldUntilMs: 20_000, onRollUntilMs: 30_000, ...belief };
  expect(isDue(all, { ...COUNTED, ...counted }, TIMES)).toBe(expected);
});

test.each([
  [0, 2_000, 7_000],
  [2, 2_000, 7_000],
  [3, 2_700, 7_700],
  [16, 14_400, 19_400],
  [17, 15_000, 20_000],
  [60, 15_000, 20_000],
])("of %d processes each renews every %d ms, and counts as alive for %d ms", (processes, everyMs, forMs) => {
  expect(countEveryMs(processes, 2_000)).toBe(everyMs);
  expect(aliveMs(processes, 2_000)).toBe(forMs);
});

test.each([
  [0, 1],
  [1, 1],
  [4, 1],
  [5, 2],
  [8, 2],
  [9, 3],
  [13, 3],
  [14, 3],
  [16, 3],
  [60, 3],
])("with %d processes one renewal lets its process act for %d times the renew deadline", (processes, terms) => {
  expect(termsOf(processes, TIMES)).toBe(terms);
});
