import fc from "fast-check";
import { expect, test } from "vitest";
import { isOneMoreLeft } from "./places-left.ts";

/** Slots, and how many each namespace uses. */
class Room {
  readonly taken: number[];
  left: number;
  readonly #most: number;

  constructor(most: number, namespaces: number) {
    this.#most = most;
    this.left = most;
    this.taken = Array.from({ length: namespaces }, () => 0);
  }

  /** @returns whether it got one more */
  take(namespace: number): boolean {
    const taken = this.taken[namespace] ?? 0;
    if (!isOneMoreLeft(taken, this.left, this.#most)) return false;
    this.taken[namespace] = taken + 1;
    this.left -= 1;
    return true;
  }

  leave(namespace: number): void {
    const taken = this.taken[namespace] ?? 0;
    if (taken === 0) return;
    this.taken[namespace] = taken - 1;
    this.left += 1;
  }
}

test.each([
  [1, [1]],
  [2, [2]],
  [3, [2, 1]],
  [30, [20, 2, 2, 2, 1, 1, 1, 1]],
  [256, [171, 17, 14, 11, 9, 7, 6, 5, 4, 3, 2, 2, 1, 1, 1, 1, 1]],
  [300, [200, 20, 16, 13, 11, 8, 7, 5, 4, 4, 3, 2, 2, 1, 1, 1, 1, 1]],
])("namespaces that take as many of %i slots as they can, one after the other, get %j", (most, expected) => {
  const room = new Room(most, expected.length + 1);
  for (const namespace of room.taken.keys()) while (room.take(namespace));
  expect(room.taken).toEqual([...expected, 0]);
});

test.each([
  [256, 1, 85],
  [256, 7, 85],
  [256, 10, 72],
  [256, 20, 40],
  [256, 100, 8],
  [300, 2, 99],
  [300, 250, 4],
])("of %i slots, %i namespaces that take them in turn leave %i free", (most, namespaces, left) => {
  const room = new Room(most, namespaces);
  while (room.taken.map((_, namespace) => room.take(namespace)).some(Boolean));
  expect(room.left).toBe(left);
});

test("sixteen namespaces never use all of 256 slots, in whatever order they take and free them", () => {
  const namespace = fc.integer({ min: 0, max: 15 });
  const turn = fc.record({
    namespace,
    takes: fc.integer({ min: 0, max: 256 }),
    leaves: fc.integer({ min: 0, max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 60, size: "max" }), (turns) => {
      const room = new Room(256, 16);
      for (const { namespace, takes, leaves } of turns) {
        for (let n = 0; n < leaves; n++) room.leave(namespace);
        for (let n = 0; n < takes && room.take(namespace); n++);
        expect(room.left).toBeGreaterThan(0);
      }
    }),
    { numRuns: 300 },
  );
});

test("without a limit a namespace may use any number of slots", () => {
  expect(isOneMoreLeft(999, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)).toBe(true);
});
