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
  ["what has not changed proves nothing", {}, {}],
  ["a version that is new came after what was asked before", { isNew: true }, { heldUntilMs: 11_000 }],
  [
    "a count of its own came after it was sent, and keeps it on the roll for as long as it permits",
    { own: { sentMs: 2_000, actsMs: 30_000 } },
    { heldUntilMs: 12_000, onRollUntilMs: 32_000 },
  ],
  [
    "the later of both counts",
    { isNew: true, own: { sentMs: 500, actsMs: 30_000 } },
    { heldUntilMs: 11_000, onRollUntilMs: 30_500 },
  ],
  [
    "an older count of its own stands there again: others wait only for what that permits",
    { own: { sentMs: -5_000, actsMs: 10_000 } },
    { onRollUntilMs: 5_000 },
  ],
  [
    "who is not on the roll stops at once, and is told nothing by others' renewals",
    { isNew: true, own: undefined },
    { onRollUntilMs: LOST },
  ],
  ["who sees somebody else hold it stops at once", { isHeldByGroup: false, isNew: true }, { heldUntilMs: LOST }],
  [
    "who sees somebody else hold it stops at once, whatever stands there of it",
    { isHeldByGroup: false, own: { sentMs: 2_000, actsMs: 30_000 } },
    { heldUntilMs: LOST },
  ],
])("what is believed after an answer: %s", (_title, sight, expected) => {
  expect(believed(BEFORE, { ...SIGHT, ...sight }, 10_000)).toEqual({ ...BEFORE, askedMs: 3_000, ...expected });
});

test("the first look proves nothing", () => {
  const belief = believed(NO_BELIEF, { ...SIGHT, own: undefined }, 10_000);
  expect(isBelieved(belief, 0)).toBe(false);
  expect(belief.askedMs).toBe(3_000);
});

test.each([
  ["just before the older one is over", 9_999, [1, 2, 3]],
  ["when the older one is over", 10_000, [2, 3]],
])("counts that were sent are known as long as they permit something: %s", (_when, sentMs, expected) => {
  const before = sentCounts(sentCounts(new Map(), 1, { sentMs: 0, actsMs: 10_000 }), 2, { sentMs: 1, actsMs: 10_000 });
  const sent = sentCounts(before, 3, { sentMs, actsMs: 20_000 });
  expect([...sent.keys()]).toEqual(expected);
  expect(sent.get(3)).toEqual({ sentMs, actsMs: 20_000 });
});

test.each([
  ["before both", 4_999, { heldUntilMs: 5_000, onRollUntilMs: 5_000 }, true],
  ["when nobody has renewed", 5_000, { heldUntilMs: 5_000, onRollUntilMs: 6_000 }, false],
  ["when it has not counted on itself", 5_000, { heldUntilMs: 6_000, onRollUntilMs: 5_000 }, false],
])("a process may act, or not: %s", (_title, nowMs, until, expected) => {
  expect(isBelieved({ askedMs: 0, ...until }, nowMs)).toBe(expected);
});

const TIMES = { renewEveryMs: 2_000, renewDeadlineMs: 10_000 };
const COUNTED = { nowMs: 10_000, lastSentMs: 4_800, isLastThere: true, processes: 8 };
test.each<[string, Partial<Belief>, Partial<typeof COUNTED>, boolean]>([
  ["it is not its turn yet", {}, {}, false],
  ["it is its turn before the next look", {}, { lastSentMs: 4_799 }, true],
  ["there are fewer, and so it is its turn earlier", {}, { processes: 7 }, true],
  ["it has sent none", {}, { lastSentMs: LOST }, true],
  ["what it sent last does not stand there", {}, { isLastThere: false }, true],
  ["somebody has renewed four seconds ago", { heldUntilMs: 16_000 }, {}, true],
  ["somebody has renewed less than four seconds ago", { heldUntilMs: 16_001 }, {}, false],
  ["it may act for four seconds more", { onRollUntilMs: 14_000 }, {}, true],
  ["it may act for more than four seconds more", { onRollUntilMs: 14_001 }, {}, false],
])("a process counts on, or not: %s", (_title, belief, counted, expected) => {
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
])("of %d processes each counts on every %d ms, and goes on for others for %d ms", (processes, everyMs, forMs) => {
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
])("where %d processes count, one count permits to act for %d terms", (processes, terms) => {
  expect(termsOf(processes, TIMES)).toBe(terms);
});
