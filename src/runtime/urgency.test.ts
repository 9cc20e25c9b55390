import { expect, test } from "vitest";
import {
  moreUrgent,
  nextOf,
  type Stage,
  URGENCIES,
  type Urgency,
  urgencyOfChange,
  urgencyOfTimer,
} from "#runtime/urgency.ts";

test.each<[Stage, Urgency, Urgency]>([
  ["new", "new", "new"],
  ["underWay", "underWay", "underWay"],
  ["finishing", "finishing", "finishing"],
  ["settled", "underWay", "routine"],
])("urgency: for an object that is %s a change has urgency %s, and a recheck %s", (stage, change, timer) => {
  expect([urgencyOfChange(stage), urgencyOfTimer(stage)]).toEqual([change, timer]);
});

test("urgency: a user's edit is the most urgent, and a periodic recheck the least", () => {
  expect([...URGENCIES].reverse().reduce(moreUrgent)).toBe("asked");
  expect(moreUrgent("routine", "new")).toBe("new");
  expect(moreUrgent("finishing", "underWay")).toBe("finishing");
  expect(moreUrgent("new", "new")).toBe("new");
});

test.each<[readonly Urgency[], Urgency | undefined, Urgency | undefined]>([
  [[], undefined, undefined],
  [[], "asked", undefined],
  [["routine"], undefined, "routine"],
  [["routine", "new", "underWay", "finishing", "asked"], undefined, "asked"],
  [["routine", "new", "underWay", "finishing", "asked"], "asked", "finishing"],
  [["routine", "new", "underWay", "finishing", "asked"], "finishing", "asked"],
  [["routine", "asked"], "asked", "routine"],
  [["asked"], "asked", "asked"],
  [["routine", "new", "underWay", "finishing"], "finishing", "finishing"],
  [["routine", "new", "underWay"], "asked", "underWay"],
  [["routine", "new"], "new", "new"],
])("urgency: with %j waiting and %s as the last one, the next is %s", (waiting, before, next) => {
  expect(nextOf(new Set(waiting), before)).toBe(next);
});
