import { expect, test } from "vitest";
import { checkedOf } from "#kit/snapshots/checks.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { latencyText, networkBounds } from "./bounds.ts";
import { type Checked, checkState, findingsOf } from "./findings.ts";
import type { Latency, Speed } from "./reading.ts";

const fast = checkedOf(cluster());
const latency = (p99Ms: number, basis: Latency["basis"] = "window"): Latency => ({
  p99Ms,
  isAbove: false,
  count: 100,
  basis,
});

/** The first member with another speed. */
function first(change: Partial<Speed>, checked = fast): Checked {
  const members = checked.members.map((each, n) =>
    n > 0 || "unread" in each.found ? each : { ...each, found: { speed: { ...each.found.speed, ...change } } },
  );
  return { ...checked, members };
}

/** The first member with this round trip to the second. */
function trip(p99Ms: number, etcd: object = {}, isAbove = false): Checked {
  const { cluster: seen, members } = fast;
  const spec = { ...(seen.spec as object), etcd };
  const trips = new Map([
    [members[1]!.id, { ...latency(p99Ms), isAbove }],
    [members[2]!.id, latency(0.4)],
  ]);
  return { ...first({ roundTrips: trips }), cluster: { ...seen, spec } };
}

function counted(change: Partial<Speed["counters"]>): Checked {
  const none = { total: 1, inWindow: 0 };
  return first({ counters: { leaderChanges: none, failedProposals: none, slowApplies: none, ...change } });
}

test.each<[string, Checked, string[]]>([
  ["a cluster below all bounds", fast, []],
  ["an fsync just below 10 ms", first({ sync: latency(9.999) }), []],
  ["an fsync of 10 ms", first({ sync: latency(10) }), ["slow-fsync"]],
  ["an fsync of 10 ms since the start", first({ sync: latency(10, "start") }), ["slow-fsync"]],
  ["an fsync of 10 ms, measured too rarely", first({ sync: latency(10, "few") }), ["too-few"]],
  ["no fsync", first({ sync: undefined }), ["too-few"]],
  ["a commit just below 25 ms", first({ commit: latency(24.999) }), []],
  ["a commit of 25 ms", first({ commit: latency(25) }), ["slow-commit"]],
  ["too few commits", first({ commit: latency(1, "few") }), ["too-few"]],
  ["a round trip just below the heartbeat interval", trip(99.999), []],
  ["a round trip of the heartbeat interval", trip(100), ["slow-round-trip"]],
  ["a round trip below a longer interval", trip(100, { heartbeatInterval: "200ms", electionTimeout: "2s" }), []],
  ["a round trip of a tenth of the election timeout", trip(100, { heartbeatInterval: "200ms" }), ["slow-round-trip"]],
  ["a round trip of a shorter interval", trip(50, { heartbeatInterval: "50ms" }), ["slow-round-trip"]],
  ["no round trip", first({ roundTrips: new Map() }), ["too-few"]],
  ["a change of the leader", counted({ leaderChanges: { total: 9, inWindow: 1 } }), ["leader-changes"]],
  ["earlier changes of the leader", counted({ leaderChanges: { total: 9, inWindow: 0 } }), []],
  ["a failed write", counted({ failedProposals: { total: 9, inWindow: 1 } }), ["failed-proposals"]],
  ["a slow apply", counted({ slowApplies: { total: 9, inWindow: 1 } }), ["slow-applies"]],
  ["counters that are missing", counted({ slowApplies: undefined }), []],
  ["members beyond the bound", { ...fast, left: 1 }, ["unread"]],
  ["a status without members", { ...fast, members: [] }, ["unread"]],
  ["a cluster that sleeps", { ...fast, cluster: checkedOf(asleep()).cluster, members: [] }, []],
])("findings of %s", (_, checked, kinds) => {
  expect(findingsOf(checked).map(({ kind }) => kind)).toEqual(kinds);
});

const unread = { unread: { why: "timeout", isRightMissing: false } };

test("trouble that is proven outweighs what could not be read, and no service outweighs both", () => {
  const slow = checkedOf(cluster(), { 0: { sync: { 16: 100 } }, 1: unread });
  expect(checkState(slow)).toBe("degraded");
  expect(checkState(checkedOf(cluster(), { 1: unread }))).toBe("cannot tell");
  const lost = checkedOf(cluster({ down: ["my-etcd-0", "my-etcd-1"] })).cluster;
  expect(checkState({ ...slow, cluster: lost })).toBe("not serving");
  expect(checkState(fast)).toBe("well");
});

test("a peer without an ID in the status is not waited for", () => {
  const members = fast.members.map((each, n) => (n === 2 ? { ...each, id: "" } : each));
  expect(findingsOf(first({ roundTrips: new Map([[members[1]!.id, latency(1)]]) }, { ...fast, members }))).toEqual([]);
});

test.each([
  [100, {}, "150ms", "1500ms"],
  [149.9, {}, "150ms", "1500ms"],
  [150, {}, "200ms", "2000ms"],
  [60, { heartbeatInterval: "50ms", electionTimeout: "5s" }, "100ms", "5000ms"],
  [110, { heartbeatInterval: "500ms", electionTimeout: "1s" }, "500ms", "2500ms"],
])("a round trip of %d ms with the settings %j leads to %s and %s", (ms, etcd, heartbeat, election) => {
  const [finding] = findingsOf(trip(ms, etcd));
  const settings = `set spec.etcd.heartbeatInterval to ${heartbeat} and spec.etcd.electionTimeout to ${election},`;
  expect(finding?.text).toContain(settings);
});

test("no setting is named for a round trip beyond the last bucket", () => {
  const [finding] = findingsOf(trip(3_276.8, {}, true));
  expect(finding?.text).toMatch(/\(>3\.2 s\).* Bring the members closer together\.$/);
});

test("the bound of the round trip follows the spec, or etcd's defaults", () => {
  const of = (etcd: object) => networkBounds({ spec: { etcd } });
  expect(of({})).toEqual({ heartbeatMs: 100, electionMs: 1_000, roundTripMs: 100 });
  expect(of({ electionTimeout: "500ms" })).toMatchObject({ roundTripMs: 50 });
  expect(of({ heartbeatInterval: "x", electionTimeout: [] })).toMatchObject({ roundTripMs: 100 });
});

test.each([
  [0.04, "0.0 ms"],
  [9.99, "9.9 ms"],
  [10, "10 ms"],
  [999, "999 ms"],
  [999.9, "999 ms"],
  [1_000, "1.0 s"],
  [8_192, "8.1 s"],
])("%d ms is shown as %s", (p99Ms, text) => {
  expect(latencyText({ p99Ms, isAbove: false })).toBe(text);
  expect(latencyText({ p99Ms, isAbove: true })).toBe(`>${text}`);
});

test("a finding names the slowest first, and how many it leaves out", () => {
  const seven = checkedOf(cluster({ replicas: 7 }), {
    ...Object.fromEntries(Array.from({ length: 7 }, (_, n) => [n, { sync: { 16: 100 } }])),
    4: { sync: { 64: 100 }, isQuiet: true },
  });
  const [finding] = findingsOf(seven);
  expect(finding?.text).toContain(
    "on my-etcd-4 (63 ms since its start), my-etcd-0 (15 ms), my-etcd-1 (15 ms) and 4 more; it must be below 10 ms.",
  );
});
