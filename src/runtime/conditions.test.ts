import { expect, test } from "vitest";
import { withCondition } from "#runtime/conditions.ts";

const ready = {
  type: "Ready",
  status: "True",
  reason: "AllMembersHealthy",
  message: "3 of 3",
  observedGeneration: 1,
} as const;

test("conditions: the transition time changes only with the status", () => {
  const first = withCondition([], ready, "2026-01-01T00:00:00Z");
  const same = withCondition(first, { ...ready, message: "still 3 of 3" }, "2026-01-02T00:00:00Z");
  expect(same[0]).toMatchObject({ lastTransitionTime: "2026-01-01T00:00:00Z", message: "still 3 of 3" });
  const changed = withCondition(same, { ...ready, status: "False" }, "2026-01-03T00:00:00Z");
  expect(changed[0]?.lastTransitionTime).toBe("2026-01-03T00:00:00Z");
});

test("conditions: new conditions are sorted by type, and other conditions are unchanged", () => {
  const two = withCondition(withCondition([], ready, "t1"), { ...ready, type: "Available" }, "t2");
  expect(two.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`)).toEqual([
    "Available t2",
    "Ready t1",
  ]);
});

test("conditions: a message is cut to the length that the API server accepts", () => {
  const [condition] = withCondition([], { ...ready, message: "x".repeat(40_000) }, "t");
  expect(condition?.message.length).toBeLessThan(32_768);
  expect(condition?.message.endsWith("…")).toBe(true);
});
