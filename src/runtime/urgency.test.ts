import { expect, test } from "vitest";
import {
  moreUrgent,
  type Stage,
  TURNS_TO_THE_OLDEST,
  turnOf,
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
])("urgency: of an object that is %s a change is %s, and the next look %s", (stage, change, timer) => {
  expect([urgencyOfChange(stage), urgencyOfTimer(stage)]).toEqual([change, timer]);
});

test("urgency: what a person did comes before all, and a look for its own sake after all", () => {
  expect([...URGENCIES].reverse().reduce(moreUrgent)).toBe("asked");
  expect(moreUrgent("routine", "new")).toBe("new");
  expect(moreUrgent("finishing", "underWay")).toBe("finishing");
  expect(moreUrgent("new", "new")).toBe("new");
});

const LAST = TURNS_TO_THE_OLDEST - 1;

test.each<[number, readonly Urgency[], Urgency | undefined, ReturnType<typeof turnOf>]>([
  [0, [], undefined, undefined],
  [LAST, [], "asked", undefined],
  [0, ["routine"], undefined, "routine"],
  [0, ["routine", "new", "underWay", "finishing", "asked"], undefined, "asked"],
  [1, ["routine", "new", "underWay", "finishing", "asked"], "finishing", "asked"],
  [1, ["routine", "new", "underWay", "finishing", "asked"], "asked", "finishing"],
  [1, ["routine", "asked"], "asked", "routine"],
  [1, ["asked"], "asked", "asked"],
  [1, ["routine", "new", "underWay", "finishing"], "finishing", "finishing"],
  [2, ["routine", "new", "underWay"], "asked", "underWay"],
  [LAST - 1, ["routine", "new"], "new", "new"],
  [LAST, ["routine", "asked"], "asked", "oldest"],
  [LAST + 1, ["routine", "asked"], "routine", "asked"],
  [LAST + TURNS_TO_THE_OLDEST, ["asked"], "asked", "oldest"],
])("urgency: turn %i of %j after %s is %s", (turn, waiting, before, whose) => {
  expect(turnOf(turn, new Set(waiting), before)).toBe(whose);
});
