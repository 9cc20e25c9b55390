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
  ["an unchanged version proves nothing", {}, {}],
  ["a new version was stored after the previous read", { isNew: true }, { heldUntilMs: 11_000 }],
  [
    "its own count was stored after it was sent, and keeps it on the roll as long as it permits",
    { own: { sentMs: 2_000, actsMs: 30_000 } },
    { heldUntilMs: 12_000, onRollUntilMs: 32_000 },
  ],
  [
    "the later of both counts",
    { isNew: true, own: { sentMs: 500, actsMs: 30_000 } },
    { heldUntilMs: 11_000, onRollUntilMs: 30_500 },
  ],
  [
    "an older count of its own is stored again: others wait only as long as that permits",
    { own: { sentMs: -5_000, actsMs: 10_000 } },
    { onRollUntilMs: 5_000 },
  ],
  [
    "a process that is not on the roll stops at once, whatever others renew",
    { isNew: true, own: undefined },
    { onRollUntilMs: LOST },
  ],
  ["a process that sees another holder stops at once", { isHeldByGroup: false, isNew: true }, { heldUntilMs: LOST }],
  [
    "a process that sees another holder stops at once, even with its own count stored",
    { isHeldByGroup: false, own: { sentMs: 2_000, actsMs: 30_000 } },
    { heldUntilMs: LOST },
  ],
])("deadlines after a response: %s", (_title, sight, expected) => {
  expect(believed(BEFORE, { ...SIGHT, ...sight }, 10_000)).toEqual({ ...BEFORE, askedMs: 3_000, ...expected });
});

test("the first read proves nothing", () => {
  const belief = believed(NO_BELIEF, { ...SIGHT, own: undefined }, 10_000);
  expect(isBelieved(belief, 0)).toBe(false);
  expect(belief.askedMs).toBe(3_000);
});

test.each([
  ["just before the older one is over", 9_999, [1, 2, 3]],
  ["when the older one is over", 10_000, [2, 3]],
])("sent counts are remembered until they expire: %s", (_when, sentMs, expected) => {
  const before = sentCounts(sentCounts(new Map(), 1, { sentMs: 0, actsMs: 10_000 }), 2, { sentMs: 1, actsMs: 10_000 });
  const sent = sentCounts(before, 3, { sentMs, actsMs: 20_000 });
  expect([...sent.keys()]).toEqual(expected);
  expect(sent.get(3)).toEqual({ sentMs, actsMs: 20_000 });
});

test.each([
  ["before both", 4_999, { heldUntilMs: 5_000, onRollUntilMs: 5_000 }, true],
  ["when no process has renewed", 5_000, { heldUntilMs: 5_000, onRollUntilMs: 6_000 }, false],
  ["when it has not renewed itself", 5_000, { heldUntilMs: 6_000, onRollUntilMs: 5_000 }, false],
])("whether a process may act: %s", (_title, nowMs, until, expected) => {
  expect(isBelieved({ askedMs: 0, ...until }, nowMs)).toBe(expected);
});

const TIMES = { renewEveryMs: 2_000, renewDeadlineMs: 10_000 };
const COUNTED = { nowMs: 10_000, lastSentMs: 4_800, isLastThere: true, processes: 8 };
test.each<[string, Partial<Belief>, Partial<typeof COUNTED>, boolean]>([
  ["not before its interval is over", {}, {}, false],
  ["when its interval is over before the next read", {}, { lastSentMs: 4_799 }, true],
  ["earlier in a smaller group", {}, { processes: 7 }, true],
  ["when it has sent none", {}, { lastSentMs: LOST }, true],
  ["when its last one is not stored", {}, { isLastThere: false }, true],
  ["when the last renewal of the group is four seconds old", { heldUntilMs: 16_000 }, {}, true],
  ["not when a renewal of the group is more recent", { heldUntilMs: 16_001 }, {}, false],
  ["when it may act for four seconds more", { onRollUntilMs: 14_000 }, {}, true],
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
])("with %d processes one count permits to act for %d terms", (processes, terms) => {
  expect(termsOf(processes, TIMES)).toBe(terms);
});
