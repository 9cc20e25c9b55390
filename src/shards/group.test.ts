import { expect, test } from "vitest";
import { Group } from "./group.ts";
import type { GroupLease } from "./group-lease.ts";

function lease(name: string, reported: string[]) {
  const self = {
    ended: Promise.withResolvers<void>(),
    left: Promise.withResolvers<void>(),
    holds: false,
    stands: (): boolean => false,
  };
  const stub = {
    mayAct: () => self.holds,
    alive: (forMs = 0) => [`${name}, for ${forMs} ms`],
    run: (signal: AbortSignal, stands: () => boolean) => {
      self.stands = stands;
      signal.addEventListener("abort", () => reported.push(`${name} must end`));
      return self.ended.promise;
    },
    leave: () => {
      reported.push(`${name} leaves`);
      return self.left.promise;
    },
  };
  return Object.assign(self, { stub: stub as unknown as GroupLease });
}

/** Lets every promise that can settle now do so. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("each lease is acquired only while those before it are held, and all are released together at the end", async () => {
  const reported: string[] = [];
  const [own, whole] = [lease("own", reported), lease("whole", reported)];
  const group = new Group([own.stub, whole.stub]);
  const work = Promise.withResolvers<void>();
  let outcome: unknown;
  void group
    .during(() => work.promise)
    .then(
      () => (outcome = "ended"),
      (thrown: unknown) => (outcome = thrown),
    );
  const seen = () => [own.stands(), whole.stands(), group.mayAct()];
  expect(seen()).toEqual([true, false, false]);
  own.holds = true;
  expect(seen()).toEqual([true, true, false]);
  whole.holds = true;
  expect(seen()).toEqual([true, true, true]);
  own.holds = false;
  expect(seen()).toEqual([true, false, false]);
  expect([group.alive(), group.alive(5)]).toEqual([["own, for 0 ms"], ["own, for 5 ms"]]);
  await settled();
  expect(reported).toEqual([]);
  work.reject("broken");
  await settled();
  own.ended.resolve();
  await settled();
  expect(reported).toEqual(["own must end", "whole must end"]);
  whole.ended.resolve();
  await settled();
  expect(reported.slice(2)).toEqual(["own leaves", "whole leaves"]);
  own.left.resolve();
  await settled();
  expect(outcome).toBeUndefined();
  whole.left.resolve();
  await settled();
  expect(outcome).toBe("broken");
});
