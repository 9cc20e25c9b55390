import { expect, test } from "vitest";
import { ALL_HISTORIES } from "#dev/part.ts";
import { keepEveryPromise, silentRules } from "../simulation/kept.ts";

// Each commit runs some of these histories; this file runs one half of all.

const HALF = ALL_HISTORIES / 2;

test("the last five thousand simulated histories violate no invariant, and every rule decides in some of them", {
  timeout: 3_600_000,
}, async () => {
  const report = await keepEveryPromise(HALF, 1 + HALF);
  expect(silentRules(report)).toEqual([]);
});
