import { expect, test } from "vitest";
import type { Lease } from "#kube/kinds.ts";
import {
  aliveIn,
  annotationsWith,
  countPatch,
  isPatchable,
  leavePatch,
  othersOn,
  ROLL_ANNOTATION,
  rollOf,
  seenRoll,
  withSomebody,
} from "./lease-roll.ts";

const GROUP = "shards-rule2-of-3";
const BY_KEY = { [ROLL_ANNOTATION]: "by-key" };
/** Keys as computed from names; leases are shared between releases, so they must not change. */
const KEY_A = "renewals.etcd.improbable.io/ac8d8342bbb2362d";
const KEY_B = "renewals.etcd.improbable.io/c100f95c1913f9c7";

function lease(holderIdentity: string, annotations?: Record<string, string>): Lease {
  return { metadata: { annotations }, spec: { holderIdentity } } as unknown as Lease;
}

const UNKNOWN = { count: 0, silentMs: 60_000 };
/** Counts by process; the announced time is half a minute. */
const map = (of: Record<string, number>) =>
  new Map(
    Object.entries(of).map(([name, count]) => [name, name === "?" ? UNKNOWN : { count, silentMs: 30_000 }] as const),
  );

test.each<[string, Lease | undefined, Record<string, number>]>([
  ["no lease has an empty roll", undefined, {}],
  [
    "a lease of the group has the renewal counts of its processes",
    lease(GROUP, { ...BY_KEY, [KEY_A]: "3 30 a", [KEY_B]: "0 30 b", other: "7 30 c" }),
    { a: 3, b: 0 },
  ],
  ["a lease of the group may have an empty roll", lease(GROUP, BY_KEY), {}],
  ["the roll is ignored when another group holds the lease", lease("c", { ...BY_KEY, [KEY_A]: "3 30 a" }), {}],
  ["the roll is ignored when no group holds the lease", lease("", { ...BY_KEY, [KEY_A]: "3 30 a" }), {}],
  ["a missing roll in a lease of the group is read as an unknown process", lease(GROUP), { "?": 0 }],
  [
    "a roll in an unknown format has its readable entries and an unknown process",
    lease(GROUP, { [ROLL_ANNOTATION]: "{}", [KEY_A]: "3 30 a" }),
    { a: 3, "?": 0 },
  ],
  [
    "an entry under another process's key is read as an unknown process",
    lease(GROUP, { ...BY_KEY, [KEY_A]: "3 30 b" }),
    { "?": 0 },
  ],
  [
    "an entry without a valid count is read as an unknown process",
    lease(GROUP, { ...BY_KEY, [KEY_A]: "x 30 a" }),
    { "?": 0 },
  ],
  ["a negative count is read as an unknown process", lease(GROUP, { ...BY_KEY, [KEY_A]: "-1 30 a" }), { "?": 0 }],
  [
    "a count of 16 digits is read as an unknown process",
    lease(GROUP, { ...BY_KEY, [KEY_A]: `1${"0".repeat(15)} 30 a` }),
    { "?": 0 },
  ],
  ["an entry without a time is read as an unknown process", lease(GROUP, { ...BY_KEY, [KEY_A]: "3 a" }), { "?": 0 }],
  ["a count of 15 digits is valid", lease(GROUP, { ...BY_KEY, [KEY_A]: `1${"0".repeat(14)} 30 a` }), { a: 1e14 }],
])("the roll of processes in a lease: %s", (_title, given, expected) => {
  expect(rollOf(given, GROUP)).toEqual(map(expected));
});

test("a written roll replaces the previous one, keeps other annotations, and is read back unchanged", () => {
  const roll = map({ b: 2, "?": 0 });
  const annotations = annotationsWith(roll, { theirs: "1", [KEY_A]: "3 30 a", [ROLL_ANNOTATION]: "{}" });
  expect(Object.keys(annotations).length).toBe(4);
  expect(annotations).toMatchObject({ theirs: "1", ...BY_KEY, [KEY_B]: "2 30 b" });
  expect(rollOf(lease(GROUP, annotations), GROUP)).toEqual(roll);
  expect(annotationsWith(map({}))).toEqual(BY_KEY);
});

test.each([
  ["not when there is no lease", undefined, false],
  ["when the group holds a lease with a roll", lease(GROUP, BY_KEY), true],
  ["not when the group holds a lease without a roll", lease(GROUP), false],
  ["not when another group holds the lease", lease("c", BY_KEY), false],
])("whether a renewal may patch its own entry: %s", (_title, given, expected) => {
  expect(isPatchable(given, GROUP)).toBe(expected);
});

const TESTS = [
  { op: "test", path: "/spec/holderIdentity", value: GROUP },
  { op: "test", path: "/metadata/annotations/etcd.improbable.io~1processes", value: "by-key" },
];
const PATH_A = "/metadata/annotations/renewals.etcd.improbable.io~1ac8d8342bbb2362d";

test("a renewal writes its own entry, if the group still holds the lease with a complete roll", () => {
  expect(countPatch(GROUP, "a", undefined, { count: 7, silentMs: 15_000 }, "now")).toEqual([
    ...TESTS,
    { op: "add", path: PATH_A, value: "7 15 a" },
    { op: "add", path: "/spec/renewTime", value: "now" },
  ]);
});

test("a renewal fails if its own entry has changed since the last read", () => {
  const [before, told] = [
    { count: 6, silentMs: 30_000 },
    { count: 7, silentMs: 15_000 },
  ];
  expect(countPatch(GROUP, "a", before, told, "now")).toEqual([
    ...TESTS,
    { op: "test", path: PATH_A, value: "6 30 a" },
    { op: "add", path: PATH_A, value: "7 15 a" },
    { op: "add", path: "/spec/renewTime", value: "now" },
  ]);
});

test("an unknown process can be added to a roll of known processes", () => {
  expect(withSomebody(map({ a: 1 }))).toEqual(map({ a: 1, "?": 0 }));
});

test("a process that leaves removes its own entry, if the group still holds the lease with a complete roll", () => {
  expect(leavePatch(GROUP, "a")).toEqual([...TESTS, { op: "remove", path: PATH_A }]);
});

test("a changed count has the time of the read, unchanged counts keep their times, and removed processes are dropped", () => {
  const before = seenRoll(new Map(), map({ a: 1, b: 1, c: 1 }), 1_000);
  expect(seenRoll(before, map({ a: 1, b: 2, d: 1 }), 3_000)).toEqual(
    new Map([
      ["a", { count: 1, sinceMs: 1_000, comeMs: 1_000 }],
      ["b", { count: 2, sinceMs: 3_000, comeMs: 1_000 }],
      ["d", { count: 1, sinceMs: 3_000, comeMs: 3_000 }],
    ]),
  );
});

test.each([
  ["just before that", 5_999, ["a", "b"]],
  ["at that time", 6_000, ["b"]],
])(
  "a process without renewals counts as alive until its time ends, and an unknown process never: %s",
  (_when, nowMs, expected) => {
    const seen = seenRoll(seenRoll(new Map(), map({ b: 1, a: 1, "?": 0 }), 1_000), map({ b: 2, a: 1, "?": 0 }), 2_000);
    expect(aliveIn(seen, 5_000, 0, nowMs)).toEqual(expected);
  },
);

test.each([
  ["all when no minimum is required", 0, ["a", "b"]],
  ["those that joined exactly the minimum ago", 4_000, ["a"]],
  ["none that joined later", 4_001, []],
])("processes that are alive and joined a minimum time ago: %s", (_which, forMs, expected) => {
  const seen = seenRoll(seenRoll(new Map(), map({ a: 1 }), 1_000), map({ a: 2, b: 1 }), 2_000);
  expect(aliveIn(seen, 5_000, forMs, 5_000)).toEqual(expected);
});

const SEEN = seenRoll(
  seenRoll(new Map(), map({ me: 4, other: 1, silent: 1 }), 0),
  map({ me: 4, other: 2, silent: 1 }),
  1_000,
);
test.each([
  ["one without renewals just before its time ends", 29_999, { other: 2, silent: 1 }],
  ["not one without renewals at the end of its time", 30_000, { other: 2 }],
  ["none at the end of the time of all", 31_000, {}],
])("other processes that may still act: %s", (_title, nowMs, expected) => {
  const roll = map({ me: 4, other: 2, silent: 1 });
  expect(othersOn(roll, SEEN, "me", nowMs)).toEqual(map(expected));
});

test("a process that joined between two reads may still act", () => {
  const roll = map({ me: 4, other: 2, new: 1 });
  expect(othersOn(roll, SEEN, "me", 31_000)).toEqual(map({ new: 1 }));
});
