import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkedOf } from "#kit/snapshots/checks.ts";
import { cluster, NOW } from "#kit/snapshots/cluster.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import type { Checked } from "../findings.ts";
import { render } from "../lines.ts";
import { readingOf, speedOf } from "../reading.ts";
import { widthOf } from "../text.ts";
import { checkAsValue, checkScreen } from "./check.ts";
import { STATUS_WIDTH } from "./status.ts";

// The golden files show what a person sees. To write them again: `npm run test:unit -- src/plugin -u`.

const RIGHT = { why: "the right get pods/proxy in namespace foo is missing", isRightMissing: true };
const REFUSED = { why: "dial tcp 10.0.0.7:2381: connect: connection refused", isRightMissing: false };
const seven = (tripMs: number) => Object.fromEntries(Array.from({ length: 7 }, (_, n) => [n, { tripMs }]));
const fast = checkedOf(cluster());

const SCREENS: Readonly<Record<string, Checked>> = {
  fast,
  wide: { ...fast, members: fast.members.map((each, n) => ({ ...each, node: `node-${n}` })) },
  "slow-disk": checkedOf(cluster(), {
    0: { sync: { 2: 900, 32: 100 }, commit: { 64: 100 }, slowApplies: 4 },
    2: { sync: { 9000: 100 }, leaderChanges: 1, failedProposals: 2 },
  }),
  "slow-network": checkedOf(cluster(), { 0: { tripMs: 204.8 }, 1: { tripMs: 102.4 } }),
  idle: checkedOf(cluster(), { 0: { sync: { 2: 20 }, commit: { 8: 3 } }, 1: { sync: {} } }),
  quiet: checkedOf(cluster(), { 0: { isQuiet: true }, 1: { isQuiet: true, sync: { 16: 100 } } }),
  seven: checkedOf(cluster({ replicas: 7 }), seven(1_638.4)),
  "no-right": checkedOf(cluster(), { 0: { unread: RIGHT }, 1: { unread: RIGHT }, 2: { unread: RIGHT } }),
  "one-down": checkedOf(cluster({ down: ["my-etcd-1"] }), { 1: { unread: REFUSED } }),
  "quorum-lost": checkedOf(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), {
    1: { unread: REFUSED },
    2: { unread: REFUSED },
  }),
  asleep: { ...checkedOf(asleep()), members: [] },
  one: checkedOf(cluster({ replicas: 1 })),
};

const shown = (checked: Checked) => render(checkScreen(checked), STATUS_WIDTH, false);

test.each(Object.entries(SCREENS))("the screen of check: %s", async (name, checked) => {
  await expect(shown(checked)).toMatchFileSnapshot(`golden/check-${name}.txt`);
});

test("the exit code", () => {
  const codes = Object.entries(SCREENS).map(([name, checked]) => [name, checkAsValue(checked).exitCode]);
  expect(Object.fromEntries(codes)).toEqual({
    fast: 0,
    wide: 0,
    "slow-disk": 1,
    "slow-network": 1,
    idle: 3,
    quiet: 1,
    seven: 1,
    "no-right": 3,
    "one-down": 3,
    "quorum-lost": 2,
    asleep: 0,
    one: 0,
  });
});

test("nothing is cut for seven members, and for a name of the greatest length", () => {
  const name = "n".repeat(52);
  const [{ found }] = SCREENS.seven!.members as [Checked["members"][number]];
  const members = SCREENS.seven!.members.map((each, n) => ({ ...each, name: `${name}-${n}`, found }));
  const metadata = { name, namespace: "foo" };
  const long = { ...SCREENS.seven!, members, cluster: { ...SCREENS.seven!.cluster, metadata } };
  for (const checked of [SCREENS.seven!, long, SCREENS["slow-disk"]!]) {
    const text = render(checkScreen(checked), 10_000, false);
    for (const line of text.split("\n").slice(1)) expect(widthOf(line)).toBeLessThanOrEqual(STATUS_WIDTH);
  }
  expect(shown(long)).toContain("…-0     ");
});

test("json has each value, its bound and why others are missing", () => {
  const { members, findings, ...rest } = checkAsValue(SCREENS["one-down"]!);
  expect(rest).toEqual({
    state: "cannot tell",
    exitCode: 3,
    cluster: { namespace: "foo", name: "my-etcd" },
    windowSeconds: 10,
    bounds: { fsyncMs: 10, commitMs: 25, roundTripMs: 100, heartbeatMs: 100, electionMs: 1_000 },
    membersLeftOut: 0,
  });
  expect(findings).toMatchObject([
    { kind: "unread", state: "cannot tell", text: expect.stringContaining(REFUSED.why) },
  ]);
  const trip = { p99Ms: 0.398, isAbove: false, count: 1, basis: "window" };
  expect(members).toMatchObject([
    {
      name: "my-etcd-0",
      role: "Leader",
      startTime: new Date(NOW - 12 * 24 * 3_600_000).toISOString(),
      fsync: { p99Ms: 2, isAbove: false, count: 1_000, basis: "window" },
      roundTrips: { "my-etcd-1": trip, "my-etcd-2": trip },
      leaderChanges: { total: 3, inWindow: 0 },
    },
    { name: "my-etcd-1", unread: REFUSED.why },
    { name: "my-etcd-2" },
  ]);
  const [, second] = checkAsValue(SCREENS.idle!).members as object[];
  expect(second).toMatchObject({ fsync: null });
});

test("no metrics of a member break the answer, whatever its image writes", () => {
  const real = readFileSync("test/kit/tables/member-metrics-after.txt", "utf8");
  const piece = fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.constantFrom(
      "NaN",
      "+Inf",
      "-1",
      "1e308",
      "1e-320",
      "\n",
      "}",
      '"',
      "\\",
      '{le="+Inf"}',
      "\u001b[2J",
      "8.64e12",
    ),
  );
  const cuts = fc.array(fc.tuple(fc.nat(real.length), fc.nat(30), piece), { maxLength: 30 });
  fc.assert(
    fc.property(cuts, cuts, (first, second) => {
      const [before, after] = [first, second].map((all) =>
        readingOf(all.reduce((text, [at, length, more]) => text.slice(0, at) + more + text.slice(at + length), real)),
      );
      const found = { speed: speedOf(before, after!) };
      const checked = { ...fast, members: fast.members.map((each) => ({ ...each, found })) };
      const text = shown(checked);
      expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|NaN|Infinity|undefined/u);
      expect(text.split("\n").length).toBeLessThan(40);
      expect(JSON.stringify(checkAsValue(checked))).not.toContain("undefined");
    }),
    { numRuns: 100 },
  );
});
