import { expect, test } from "vitest";
import { spreadMs } from "#access/spread.ts";

const HOUR_MS = 3_600_000;

function restOf(uid: string): number | undefined {
  const plan = spreadMs({ next: "settled" }, { metadata: { uid } }, HOUR_MS);
  return plan.next === "settled" ? plan.recheckAfterMs : undefined;
}

test("a settled object is rechecked after 90 to 100 % of the interval, spread by its uid", () => {
  expect(["a", "b", "c"].map(restOf)).toEqual([3_482_653, 3_511_410, 3_430_687]);
  const all = Array.from({ length: 1_000 }, (_, n) => restOf(`uid-${n}`) ?? 0);
  expect(Math.min(...all)).toBeGreaterThanOrEqual(0.9 * HOUR_MS);
  expect(Math.max(...all)).toBeLessThanOrEqual(HOUR_MS);
  expect(Math.max(...all) - Math.min(...all)).toBeGreaterThan(0.099 * HOUR_MS);
  expect(restOf("a")).toBe(restOf("a"));
});

test("a plan that is not settled, or has its own recheck time, is not changed", () => {
  const uid = { metadata: { uid: "a" } };
  const known = { next: "settled", recheckAfterMs: 1_000 } as const;
  const waits = { next: "wait", rule: "await-etcd", because: "", recheckAfterMs: 1_000, warn: false } as const;
  const does = { next: "step", rule: "add-user", because: "", step: 1 } as const;
  for (const plan of [known, waits, does]) expect(spreadMs(plan, uid, HOUR_MS)).toBe(plan);
});
