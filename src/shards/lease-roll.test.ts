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
/** Keys as names make them; they stand on leases that several releases read. */
const KEY_A = "renewals.etcd.improbable.io/ac8d8342bbb2362d";
const KEY_B = "renewals.etcd.improbable.io/c100f95c1913f9c7";

function lease(holderIdentity: string, annotations?: Record<string, string>): Lease {
  return { metadata: { annotations }, spec: { holderIdentity } } as unknown as Lease;
}

const UNKNOWN = { count: 0, silentMs: 60_000 };
/** By count; others wait for half a minute. */
const map = (of: Record<string, number>) =>
  new Map(
    Object.entries(of).map(([name, count]) => [name, name === "?" ? UNKNOWN : { count, silentMs: 30_000 }] as const),
  );

test.each<[string, Lease | undefined, Record<string, number>]>([
  ["no lease has an empty roll", undefined, {}],
  [
    "a lease of the group says who counts on",
    lease(GROUP, { ...BY_KEY, [KEY_A]: "3 30 a", [KEY_B]: "0 30 b", other: "7 30 c" }),
    { a: 3, b: 0 },
  ],
  ["a lease of the group on which nobody is says so", lease(GROUP, BY_KEY), {}],
  ["a roll is of former times when somebody else holds the lease", lease("c", { ...BY_KEY, [KEY_A]: "3 30 a" }), {}],
  ["a roll is of former times when nobody holds the lease", lease("", { ...BY_KEY, [KEY_A]: "3 30 a" }), {}],
  ["on a lease of the group without a roll somebody unknown stands", lease(GROUP), { "?": 0 }],
  [
    "on a roll that is told in another way somebody unknown stands besides those that are told",
    lease(GROUP, { [ROLL_ANNOTATION]: "{}", [KEY_A]: "3 30 a" }),
    { a: 3, "?": 0 },
  ],
  ["who stands at another one's key is unknown", lease(GROUP, { ...BY_KEY, [KEY_A]: "3 30 b" }), { "?": 0 }],
  ["a count that is none is somebody's", lease(GROUP, { ...BY_KEY, [KEY_A]: "x 30 a" }), { "?": 0 }],
  ["a count with something before it is none", lease(GROUP, { ...BY_KEY, [KEY_A]: "-1 30 a" }), { "?": 0 }],
  ["a count that is too large is none", lease(GROUP, { ...BY_KEY, [KEY_A]: `1${"0".repeat(15)} 30 a` }), { "?": 0 }],
  ["a time that is none is somebody's", lease(GROUP, { ...BY_KEY, [KEY_A]: "3 a" }), { "?": 0 }],
  ["a large count is one", lease(GROUP, { ...BY_KEY, [KEY_A]: `1${"0".repeat(14)} 30 a` }), { a: 1e14 }],
])("what a lease says of its group: %s", (_title, given, expected) => {
  expect(rollOf(given, GROUP)).toEqual(map(expected));
});

test("a roll is written besides what others have written, instead of the one before, and read as it was", () => {
  const roll = map({ b: 2, "?": 0 });
  const annotations = annotationsWith(roll, { theirs: "1", [KEY_A]: "3 30 a", [ROLL_ANNOTATION]: "{}" });
  expect(Object.keys(annotations).length).toBe(4);
  expect(annotations).toMatchObject({ theirs: "1", ...BY_KEY, [KEY_B]: "2 30 b" });
  expect(rollOf(lease(GROUP, annotations), GROUP)).toEqual(roll);
  expect(annotationsWith(map({}))).toEqual(BY_KEY);
});

test.each([
  ["no lease", undefined, false],
  ["a lease of the group with a roll", lease(GROUP, BY_KEY), true],
  ["a lease of the group without a roll", lease(GROUP), false],
  ["a lease of another group with a roll", lease("c", BY_KEY), false],
])("a process can be put on the roll by a patch, or not: %s", (_title, given, expected) => {
  expect(isPatchable(given, GROUP)).toBe(expected);
});

const TESTS = [
  { op: "test", path: "/spec/holderIdentity", value: GROUP },
  { op: "test", path: "/metadata/annotations/etcd.improbable.io~1processes", value: "by-key" },
];
const PATH_A = "/metadata/annotations/renewals.etcd.improbable.io~1ac8d8342bbb2362d";

test("who counts on writes what is its own, if the group still holds the lease and tells who it is", () => {
  expect(countPatch(GROUP, "a", undefined, { count: 7, silentMs: 15_000 }, "now")).toEqual([
    ...TESTS,
    { op: "add", path: PATH_A, value: "7 15 a" },
    { op: "add", path: "/spec/renewTime", value: "now" },
  ]);
});

test("who counts on does so only if nothing else stands there of it than it has seen", () => {
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

test("somebody unknown is put on a roll besides those that are known", () => {
  expect(withSomebody(map({ a: 1 }))).toEqual(map({ a: 1, "?": 0 }));
});

test("who leaves takes away what is its own, if the group still holds the lease and tells who it is", () => {
  expect(leavePatch(GROUP, "a")).toEqual([...TESTS, { op: "remove", path: PATH_A }]);
});

test("a count that has changed is of now, the others are of before, and who is gone is forgotten", () => {
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
  ["just before its time", 5_999, ["a", "b"]],
  ["at its time", 6_000, ["b"]],
])(
  "who does not count on is alive until its time is over, and somebody unknown never: %s",
  (_when, nowMs, expected) => {
    const seen = seenRoll(seenRoll(new Map(), map({ b: 1, a: 1, "?": 0 }), 1_000), map({ b: 2, a: 1, "?": 0 }), 2_000);
    expect(aliveIn(seen, 5_000, 0, nowMs)).toEqual(expected);
  },
);

test.each([
  ["all of them at once", 0, ["a", "b"]],
  ["those who came so long ago", 4_000, ["a"]],
  ["nobody who came later", 4_001, []],
])("who is alive since when: %s", (_which, forMs, expected) => {
  const seen = seenRoll(seenRoll(new Map(), map({ a: 1 }), 1_000), map({ a: 2, b: 1 }), 2_000);
  expect(aliveIn(seen, 5_000, forMs, 5_000)).toEqual(expected);
});

const SEEN = seenRoll(
  seenRoll(new Map(), map({ me: 4, other: 1, silent: 1 }), 0),
  map({ me: 4, other: 2, silent: 1 }),
  1_000,
);
test.each([
  ["just before the time of one who does not count on", 29_999, { other: 2, silent: 1 }],
  ["at the time of one who does not count on", 30_000, { other: 2 }],
  ["at the time of all", 31_000, {}],
])("who is on the roll besides this process, and may act: %s", (_title, nowMs, expected) => {
  const roll = map({ me: 4, other: 2, silent: 1 });
  expect(othersOn(roll, SEEN, "me", nowMs)).toEqual(map(expected));
});

test("who stands on the roll and was not seen yet is struck out by nobody: it has come between two looks", () => {
  const roll = map({ me: 4, other: 2, new: 1 });
  expect(othersOn(roll, SEEN, "me", 31_000)).toEqual(map({ new: 1 }));
});
