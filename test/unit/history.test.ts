import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { faultsIn, miscountsIn, type Operation } from "#kit/etcd/history.ts";

type Shape = Pick<Operation, "do" | "value" | "startMs" | "endMs"> & Partial<Operation>;

function operation(shape: Shape): Operation {
  return { key: "k", outcome: "ok", ...shape };
}
const write = (value: string, startMs: number, endMs: number | undefined, rest: Partial<Operation> = {}) =>
  operation({ do: "write", value, startMs, endMs, ...rest });
const read = (value: string | undefined, startMs: number, endMs: number, rest: Partial<Operation> = {}) =>
  operation({ do: "read", value, startMs, endMs, ...rest });
const unknown = { outcome: "unknown" } as const;

const good: { name: string; history: Operation[] }[] = [
  { name: "no operations", history: [] },
  { name: "a key that was never written", history: [read(undefined, 0, 1), read(undefined, 0, 9)] },
  {
    name: "operations one after the other",
    history: [write("a", 0, 1), read("a", 2, 3), write("b", 4, 5), read("b", 6, 7)],
  },
  { name: "a read during a write that returns the new value", history: [write("a", 0, 9), read("a", 1, 2)] },
  { name: "a read during a write that returns the old value", history: [write("a", 0, 9), read(undefined, 1, 2)] },
  {
    name: "two reads during one write, of which only the later returns the new value",
    history: [write("a", 0, 9), read(undefined, 1, 2), read("a", 3, 4)],
  },
  {
    name: "two concurrent writes, in either order",
    history: [write("a", 0, 9), write("b", 0, 9), read("a", 10, 11)],
  },
  {
    name: "two reads during two concurrent writes that return one value each",
    history: [write("a", 0, 9), write("b", 0, 9), read("a", 2, 3), read("b", 4, 5)],
  },
  {
    name: "a write of unknown outcome that was not applied",
    history: [write("a", 0, 1), write("b", 2, 3, unknown), read("a", 9, 10)],
  },
  {
    name: "a write of unknown outcome that was applied at once",
    history: [write("a", 0, 1), write("b", 2, 3, unknown), read("b", 4, 5)],
  },
  {
    name: "a write of unknown outcome that was applied long after its call ended",
    history: [write("a", 0, 1), write("b", 2, 3, unknown), read("a", 4, 5), read("b", 6, 7)],
  },
  {
    name: "a write of unknown outcome that was applied after a later write",
    history: [write("b", 0, 1, unknown), write("a", 2, 3), read("a", 4, 5), read("b", 6, 7)],
  },
  {
    name: "a write that is still open and was already read",
    history: [write("a", 0, undefined, { outcome: "open" }), read("a", 1, 2)],
  },
  {
    name: "a failed write that no read observed",
    history: [write("a", 0, 1, { outcome: "failed" }), read(undefined, 2, 3)],
  },
  { name: "a read without an answer", history: [write("a", 0, 1), read(undefined, 2, 3, unknown)] },
  {
    name: "a read that starts at the moment at which one write ends and the next starts",
    history: [write("a", 0, 1), write("b", 1, 2), read("a", 1, 1)],
  },
  {
    name: "two independent keys",
    history: [write("a", 0, 1), write("b", 2, 3, { key: "l" }), read("a", 4, 5), read("b", 4, 5, { key: "l" })],
  },
];
describe("the checker accepts a history with", () => {
  for (const { name, history } of good) {
    test(name, () => {
      expect(faultsIn(history)).toEqual([]);
      expect(isExplainedBySomeOrder(history)).toBe(true);
    });
  }
});

const bad: { name: string; history: Operation[]; says: RegExp }[] = [
  { name: "a stale read", history: [write("a", 0, 1), write("b", 2, 3), read("a", 4, 5)], says: /"b" came and went/ },
  { name: "a lost write", history: [write("a", 0, 1), read(undefined, 2, 3)], says: /"a" came and went/ },
  {
    name: "a lost write among other writes",
    history: [
      write("a", 0, 1),
      read("a", 2, 3),
      write("b", 4, 5),
      read("a", 6, 7),
      write("c", 8, 9),
      read("c", 10, 11),
    ],
    says: /"b" came and went between 4/,
  },
  {
    name: "values that alternate",
    history: [write("a", 0, 9), write("b", 0, 9), read("a", 10, 11), read("b", 12, 13), read("a", 14, 15)],
    says: /"a" was there from .* although "b" was there/,
  },
  {
    name: "two readers that see two writes in opposite orders",
    history: [write("a", 0, 20), write("b", 0, 20), read("a", 1, 2), read("b", 3, 4), read("a", 5, 6), read("b", 7, 8)],
    says: /although/,
  },
  {
    name: "a value that was never written",
    history: [write("a", 0, 1), read("x", 2, 3)],
    says: /"x" was read and never written/,
  },
  {
    name: "a read that returns a value before its write began",
    history: [read("a", 0, 1), write("a", 2, 3)],
    says: /before it was written/,
  },
  {
    name: "a read that returns the value of a later write of unknown outcome",
    history: [read("a", 0, 1), write("a", 2, 3, unknown)],
    says: /before it was written/,
  },
  {
    name: "a write of unknown outcome that was applied twice",
    history: [write("b", 0, 1, unknown), read("b", 2, 3), write("a", 4, 5), read("a", 6, 7), read("b", 8, 9)],
    says: /"a" .* although "b"|"b" .* although "a"/,
  },
  {
    name: "a write of unknown outcome that was read and later undone",
    history: [write("a", 0, 1), write("b", 2, 3, unknown), read("b", 4, 5), read("a", 6, 7)],
    says: /"b" came and went/,
  },
  {
    name: "a failed write that a read observed",
    history: [write("a", 0, 1, { outcome: "failed" }), read("a", 2, 3)],
    says: /never written/,
  },
  {
    name: "a key that has no value after a value was read",
    history: [write("a", 0, 1), read("a", 2, 3), read(undefined, 4, 5)],
    says: /"a"/,
  },
  { name: "a value that was written twice", history: [write("a", 0, 1), write("a", 2, 3)], says: /written twice/ },
  {
    name: "one inconsistent key among consistent ones",
    history: [write("a", 0, 1), read("a", 2, 3), write("b", 0, 1, { key: "l" }), read(undefined, 2, 3, { key: "l" })],
    says: /^key l: /,
  },
];
describe("the checker refuses a history with", () => {
  for (const { name, history, says } of bad) {
    test(name, () => {
      expect(faultsIn(history).join("\n")).toMatch(says);
      if (name !== "a value that was written twice") expect(isExplainedBySomeOrder(history)).toBe(false);
    });
  }
});

/** Operations with independent times, values and outcomes. */
const anything: fc.Arbitrary<Operation[]> = fc
  .array(
    fc.record({
      isWrite: fc.boolean(),
      value: fc.nat(3),
      startMs: fc.nat(12),
      lastsMs: fc.nat(6),
      outcome: fc.constantFrom("ok", "ok", "ok", "unknown", "failed") as fc.Arbitrary<Operation["outcome"]>,
    }),
    { maxLength: 7 },
  )
  .map((drafts) =>
    drafts.map(({ isWrite, value, startMs, lastsMs, outcome }, index) =>
      isWrite
        ? write(`${index}`, startMs, startMs + lastsMs, { outcome })
        : read(value === 0 ? undefined : `${value - 1}`, startMs, startMs + lastsMs, { outcome }),
    ),
  );

test("the checker gives the same result as a search through all orders", () => {
  let explained = 0;
  let unexplained = 0;
  fc.assert(
    fc.property(anything, (history) => {
      const expected = isExplainedBySomeOrder(history);
      if (expected) explained++;
      else unexplained++;
      expect(faultsIn(history).length === 0).toBe(expected);
    }),
    { numRuns: 5_000 },
  );
  expect(Math.min(explained, unexplained)).toBeGreaterThan(500); // both kinds of history must be frequent
});

/** Histories of a register that does each operation at one moment between its start and its end. */
const atomic = fc
  .array(
    fc.record({
      isWrite: fc.boolean(),
      atMs: fc.nat(500),
      beforeMs: fc.nat(30),
      afterMs: fc.nat(30),
      fate: fc.constantFrom("ok", "ok", "ok", "late", "never", "failed"),
    }),
    { maxLength: 60 },
  )
  .map((drafts) => {
    let value: string | undefined;
    const sorted = drafts.map((draft, index) => ({ ...draft, index })).sort((a, b) => a.atMs - b.atMs);
    return sorted.map(({ isWrite, atMs, beforeMs, afterMs, fate, index }): Operation => {
      const startMs = atMs - beforeMs;
      if (!isWrite) return read(value, startMs, atMs + afterMs);
      const isDone = fate === "ok" || fate === "late";
      if (isDone) value = `${index}`;
      // Late: the client gave up before the write happened.
      const endMs = fate === "late" ? startMs + beforeMs / 2 : atMs + afterMs;
      const outcome = fate === "ok" || fate === "failed" ? fate : "unknown";
      return write(`${index}`, startMs, endMs, { outcome });
    });
  });

test("the checker accepts every history of an atomic register", () => {
  fc.assert(
    fc.property(atomic, (history) => {
      expect(faultsIn(history)).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

test("the checker refuses a history with one read of an overwritten value", () => {
  fc.assert(
    fc.property(atomic, fc.nat(), (history, choice) => {
      const writes = history.filter((each) => each.do === "write" && each.outcome === "ok");
      // Two writes, the second certainly after the first, and a later read that sees the first.
      const [first, second] = [writes[choice % writes.length], writes.at(-1)];
      fc.pre(first !== undefined && second !== undefined && (first.endMs ?? 0) < second.startMs);
      const afterAll = Math.max(...history.map(({ endMs }) => endMs ?? 0)) + 1;
      expect(faultsIn([...history, read(first?.value, afterAll, afterAll + 1)])).not.toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

describe("of one acknowledged, one unknown and one failed write, the checker accepts that 1 or 2 were applied:", () => {
  const history = [write("a", 0, 1), write("b", 2, 3, unknown), write("c", 4, 5, { outcome: "failed" })];
  const cases = [
    { version: 0, says: [/1 writes were acknowledged, 0 are there/] },
    { version: 1, says: [] },
    { version: 2, says: [] },
    { version: 3, says: [/2 writes were made, 3 are there/] },
  ];
  for (const { version, says } of cases) {
    test(`${version} writes were applied`, () => {
      const told = miscountsIn(history, new Map([["k", { value: "a", version }]]));
      expect(told).toEqual(says.map((word) => expect.stringMatching(word)));
    });
  }
});

/** The definition: some order of each key's operations keeps to their times and explains every read. */
function isExplainedBySomeOrder(history: readonly Operation[]): boolean {
  return [...Map.groupBy(history, ({ key }) => key).values()].every((operations) => {
    const certain = operations.filter((each) => each.outcome === "ok");
    const possible = operations.filter(
      (each) => each.do === "write" && (each.outcome === "unknown" || each.outcome === "open"),
    );
    return someOrder(certain, possible, undefined);
  });
}

function someOrder(certain: readonly Operation[], possible: readonly Operation[], value: string | undefined): boolean {
  if (certain.length === 0) return true; // the remaining possible writes never happened
  const firstEndMs = Math.min(...certain.map(({ endMs }) => endMs ?? Number.POSITIVE_INFINITY));
  const mayBeNext = (each: Operation) => each.startMs <= firstEndMs;
  const without = (all: readonly Operation[], one: Operation) => all.filter((each) => each !== one);
  return (
    certain
      .filter(mayBeNext)
      .some((each) =>
        each.do === "write"
          ? someOrder(without(certain, each), possible, each.value)
          : each.value === value && someOrder(without(certain, each), possible, value),
      ) || possible.filter(mayBeNext).some((each) => someOrder(certain, without(possible, each), each.value))
  );
}
