import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type MemberMetrics, metricsText } from "#kit/snapshots/member-metrics.ts";
import { readingOf, speedOf } from "./reading.ts";

// Two answers of a member of etcd 3.6.16, of which only the metrics around those that are read are kept.
const file = (name: string) => readingOf(readFileSync(`test/kit/tables/member-metrics-${name}.txt`, "utf8"));

test("answers of a real member are read", () => {
  expect(file("before")).toMatchObject({
    memberId: "4cbe697a30dfbe95",
    startMs: 1_796_072_243_210,
    sync: { count: 8 },
    commit: { count: 7 },
    counters: { leaderChanges: 1, failedProposals: 0, slowApplies: 0 },
  });
  expect([...file("before").roundTrips.keys()]).toEqual(["370ee9f3e5e404a1", "3f33512cc3fc4028"]);
  const speed = speedOf(file("before"), file("after"));
  expect(speed).toMatchObject({
    sync: { count: 120, basis: "window" },
    commit: { count: 36, basis: "few" },
    counters: { leaderChanges: { total: 1, inWindow: 0 } },
  });
  expect([...speed.roundTrips.values()]).toMatchObject([
    { count: 2, basis: "window" },
    { count: 2, basis: "window" },
  ]);
});

const START: MemberMetrics = {
  id: "a",
  startMs: 1_000,
  sync: { 4: 100 },
  commit: { 8: 100 },
  trips: { b: { 0.4: 3 } },
  leaderChanges: 1,
  failedProposals: 0,
  slowApplies: 2,
};
const read = (given: Partial<MemberMetrics> = {}) => readingOf(metricsText({ ...START, ...given }));

test("what happened within the window counts, when it is enough", () => {
  const syncOf = (added: number) => speedOf(read(), read({ sync: { 4: 100, 16: added } })).sync;
  expect(syncOf(50)).toEqual({ p99Ms: 15.92, isAbove: false, count: 50, basis: "window" });
  expect(syncOf(49)).toEqual({ p99Ms: 15.757, isAbove: false, count: 149, basis: "start" });
  const tripOf = (added: number) => speedOf(read(), read({ trips: { b: { 0.4: 3, 0.8: added } } })).roundTrips.get("b");
  expect(tripOf(1)).toEqual({ p99Ms: 0.796, isAbove: false, count: 1, basis: "window" });
  expect(tripOf(0)).toEqual({ p99Ms: 0.398, isAbove: false, count: 3, basis: "start" });
});

test.each([
  [49, "few"],
  [50, "start"],
])("%i writes since the start are based on: %s", (count, basis) => {
  const idle = read({ sync: { 4: count }, commit: { 4: count } });
  expect(speedOf(idle, idle)).toMatchObject({ sync: { count, basis }, commit: { count, basis } });
});

test("counters show what was added within the window", () => {
  const { counters } = speedOf(read(), read({ leaderChanges: 3, slowApplies: 2 }));
  expect(counters).toEqual({
    leaderChanges: { total: 3, inWindow: 2 },
    failedProposals: { total: 0, inWindow: 0 },
    slowApplies: { total: 2, inWindow: 0 },
  });
});

test("a member that restarted within the window is shown since its start, and its counters do not fall", () => {
  const busy = { sync: { 4: 100, 16: 500 }, leaderChanges: 9 };
  const restarted = speedOf(read(), read({ ...busy, startMs: 2_000 }));
  expect(restarted).toMatchObject({ sync: { basis: "start" }, counters: { leaderChanges: { inWindow: 0 } } });
  const silent = speedOf(read(busy), read({ leaderChanges: 1 }));
  expect(silent).toMatchObject({ sync: { basis: "start" }, counters: { leaderChanges: { total: 1, inWindow: 0 } } });
  expect(speedOf(undefined, read(busy))).toMatchObject({ sync: { basis: "start" } });
});

test("a value beyond the last bucket is marked", () => {
  const slow = read({ sync: { 9000: 100 } });
  expect(speedOf(slow, slow).sync).toEqual({ p99Ms: 8_192, isAbove: true, count: 100, basis: "start" });
});

test("what is missing or empty is not there, and a histogram with more labels is not read", () => {
  const nothing = { startMs: undefined, sync: undefined, commit: undefined, roundTrips: new Map() };
  const counters = { leaderChanges: undefined, failedProposals: undefined, slowApplies: undefined };
  expect(speedOf(undefined, readingOf(""))).toEqual({ ...nothing, counters });
  const empty = speedOf(undefined, read({ sync: {}, commit: {}, trips: { b: {} } }));
  expect(empty).toMatchObject({ ...nothing, startMs: 1_000 });
  const labelled = metricsText(START).replaceAll("_duration_seconds_bucket{", '_duration_seconds_bucket{disk="x",');
  expect(readingOf(labelled)).toMatchObject({ memberId: "a", sync: undefined, commit: undefined });
});

test("a start beyond any date, and an ID that does not count, are left out", () => {
  expect(readingOf("process_start_time_seconds 8.64e12\n").startMs).toBe(8.64e15);
  expect(readingOf("process_start_time_seconds 8.65e12\n").startMs).toBeUndefined();
  expect(readingOf('etcd_server_id{server_id="a"} 0\n').memberId).toBeUndefined();
});
