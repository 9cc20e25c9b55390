import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Retention } from "#api/v1beta1/schedule.ts";
import { keptOf, type Stored } from "#schedule/retention.ts";

const DAY_MS = 86_400_000;

/** Backups of one etcd with these creation times. */
function at(...times: readonly string[]): readonly Stored[] {
  return times.map((time) => ({ name: time, atMs: Date.parse(time), etcd: "a", revision: 0n }));
}

function kept(all: readonly Stored[], retention: Retention, timeZone = "UTC"): readonly string[] {
  const names = keptOf(all, retention, timeZone);
  return all.flatMap(({ name }) => (names.has(name) ? [name] : []));
}

const YEAR = at(
  "2025-12-31T22:30Z", // the next year in Kathmandu
  "2026-01-15T03:00Z",
  "2026-01-31T03:00Z",
  "2026-02-01T03:00Z", // a Sunday
  "2026-02-02T03:00Z",
  "2026-02-02T15:00Z",
  "2026-02-03T03:00Z",
);

describe("the retention keeps", () => {
  test.each<[string, Retention, readonly string[]]>([
    ["the latest two with keepLast 2", { keepLast: 2 }, ["2026-02-02T15:00Z", "2026-02-03T03:00Z"]],
    ["all backups when there are fewer than keepLast", { keepLast: 9 }, YEAR.map(({ name }) => name)],
    ["backups of the last day with keepFor 1d", { keepFor: "1d" }, ["2026-02-02T03:00Z", "2026-02-02T15:00Z", "2026-02-03T03:00Z"]],
    ["backups of the last hours with keepFor in hours", { keepFor: "23h59m59s" }, ["2026-02-02T15:00Z", "2026-02-03T03:00Z"]],
    ["backups of the last weeks with keepFor in weeks", { keepFor: "2w5d" }, YEAR.slice(1).map(({ name }) => name)],
    ["the last backup of each day with keepDaily", { keepDaily: 3 }, ["2026-02-01T03:00Z", "2026-02-02T15:00Z", "2026-02-03T03:00Z"]],
    ["the last backup of each week from Monday on with keepWeekly", { keepWeekly: 3 }, ["2026-01-15T03:00Z", "2026-02-01T03:00Z", "2026-02-03T03:00Z"]],
    ["the last backup of each month with keepMonthly", { keepMonthly: 9 }, ["2025-12-31T22:30Z", "2026-01-31T03:00Z", "2026-02-03T03:00Z"]],
    ["a backup when any of its rules keeps it", { keepLast: 1, keepMonthly: 2, keepFor: "12h" }, ["2026-01-31T03:00Z", "2026-02-02T15:00Z", "2026-02-03T03:00Z"]],
    ["the latest backup without any rule", {}, ["2026-02-03T03:00Z"]],
    ["all backups when the duration is invalid", { keepFor: "soon" }, YEAR.map(({ name }) => name)],
  ])("%s", (_, retention, names) => {
    expect(kept(YEAR, retention)).toEqual(names);
  }); // biome-ignore format: a table

  test("the latest verified backup of each etcd, too", () => {
    const all = YEAR.map((each, n) => ({ ...each, isVerified: n < 2, etcd: n < 1 ? "b" : "a" }));
    const verified = ["2025-12-31T22:30Z", "2026-01-15T03:00Z"];
    expect(kept(all, { keepLast: 1 })).toEqual([...verified, "2026-02-03T03:00Z"]);
    expect(
      kept(
        all.map((each) => ({ ...each, etcd: "a" })),
        { keepLast: 1 },
      ),
    ).toEqual([verified[1], "2026-02-03T03:00Z"]);
  });

  test.each<[string, number]>([
    ["1s", 1_000],
    ["1m", 60_000],
    ["1h", 3_600_000],
    ["1d", DAY_MS],
    ["1w", 7 * DAY_MS],
    ["1w1d1s", 8 * DAY_MS + 1_000],
  ])("backups up to the age %s, and none older", (keepFor, ms) => {
    const all = [0, -1, 1].map((more, n) => ({ name: `b-${n}`, atMs: -ms - more, etcd: "a", revision: 0n }));
    const newest = { name: "newest", atMs: 0, etcd: "a", revision: 0n };
    expect(kept([...all, newest], { keepFor })).toEqual(["b-0", "b-1", "newest"]);
  });

  test("backups within an archive's duration, and the last one before it", () => {
    const all = [0, 10, 11, 12].map((seconds) => ({
      name: `${seconds}`,
      atMs: -seconds * 1_000,
      etcd: "a",
      revision: 0n,
    }));
    expect([...keptOf(all, { keepLast: 1, archiveFor: "10s" }, "UTC")].sort()).toEqual(["0", "10", "11"]);
  });

  test("the latest backups by time, whatever their names", () => {
    const all = [{ name: "a", atMs: 2, etcd: "x", revision: 0n }, { name: "b", atMs: 1, etcd: "x", revision: 0n }, { name: "c", atMs: 0, etcd: "x", revision: 0n }]; // biome-ignore format: a list
    expect(kept(all, { keepLast: 2 })).toEqual(["a", "b"]);
  });

  test("the last backup of a week that spans two months", () => {
    const days = at("2026-01-25T03:00Z", "2026-01-31T03:00Z", "2026-02-01T03:00Z");
    expect(kept(days, { keepWeekly: 2 })).toEqual(["2026-01-25T03:00Z", "2026-02-01T03:00Z"]);
  });

  test("the last backups of days in the schedule's time zone", () => {
    // In Kathmandu the first one is in the new year, and 15:00 is 20:45 of the same day.
    expect(kept(YEAR, { keepMonthly: 9 }, "Asia/Kathmandu")).toEqual(["2026-01-31T03:00Z", "2026-02-03T03:00Z"]);
    const evening = at("2026-03-28T22:30Z", "2026-03-28T23:30Z", "2026-03-29T21:30Z", "2026-03-29T22:30Z");
    expect(kept(evening, { keepDaily: 3 }, "Europe/Berlin")).toEqual(
      ["2026-03-28T22:30Z", "2026-03-29T21:30Z", "2026-03-29T22:30Z"],
    ); // biome-ignore format: a day has 23 hours
  });

  test("the backup that was due later, of two in one second", () => {
    const twins = ["a-2", "a-1", "a-3"].map((name) => ({ name, atMs: 0, etcd: "a", revision: 0n }));
    expect(kept(twins, { keepLast: 2 })).toEqual(["a-2", "a-3"]);
  });

  test("the latest backups by revision whatever their times, and the latest by time", () => {
    const all = [
      { name: "before", atMs: 5 * DAY_MS, etcd: "a", revision: 9n },
      { name: "latest", atMs: 0, etcd: "a", revision: 10n },
      { name: "first", atMs: DAY_MS, etcd: "a", revision: 8n },
      { name: "other", atMs: 0, etcd: "b", revision: 1n },
    ];
    expect(kept(all, { keepLast: 1 })).toEqual(["before", "latest", "other"]);
    expect(kept(all, { keepLast: 2 })).toEqual(["before", "latest", "first", "other"]);
    expect(kept(all, { keepDaily: 2 })).toEqual(["before", "latest", "first", "other"]);
  });

  test.each<[string, Retention, readonly string[]]>([
    ["as many as keepLast of each", { keepLast: 2 }, ["old-8", "old-9", "new-1", "new-2"]],
    ["the latest of each", {}, ["old-9", "new-2"]],
    ["the last of keepDaily days of each", { keepDaily: 2 }, ["old-8", "old-9", "new-1", "new-2"]],
    ["the last of keepMonthly months of each", { keepMonthly: 1 }, ["old-9", "new-2"]],
  ])("backups from before and after etcd was restored to an earlier revision: %s", (_, retention, names) => {
    const daily = (name: string, from: number, revision: bigint) => (n: number) => ({
      name: `${name}-${n}`,
      atMs: (from + n) * DAY_MS,
      etcd: "a",
      revision: revision + BigInt(n),
    });
    const days = [...Array(10).keys()];
    const all = [...days.map(daily("old", 0, 1_000_000n)), ...days.slice(0, 3).map(daily("new", 10, 950_000n))];
    expect(kept(all, retention)).toEqual(names);
  });

  test("the same number of each etcd cluster's backups", () => {
    const other = at("2020-01-01T00:00Z", "2020-01-02T00:00Z").map((each) => ({ ...each, etcd: "b" }));
    expect(kept([...YEAR, ...other], { keepLast: 1, keepFor: "1h" })).toEqual([
      "2026-02-03T03:00Z",
      "2020-01-02T00:00Z",
    ]);
  });
});

const stored = fc
  .array(
    fc.record({
      atMs: fc.integer({ min: 0, max: 400 * DAY_MS }),
      etcd: fc.constantFrom("a", "b", ""),
      revision: fc.bigInt({ min: 0n, max: 20n }),
    }),
    {
      minLength: 1,
      maxLength: 60,
    },
  )
  .map((all) => all.map((each, n): Stored => ({ ...each, name: `b-${n}` })));
const count = fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined });
const retention = fc.record({
  keepLast: count,
  keepFor: fc.constantFrom(undefined, "1h", "7d", "30d12h"),
  keepDaily: count,
  keepWeekly: count,
  keepMonthly: count,
}) as fc.Arbitrary<Retention>;
const zone = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe");
const RUNS = { numRuns: 300 };

describe("the retention, for any backups and rules,", () => {
  test("keeps the latest backup of each etcd cluster", () => {
    fc.assert(
      fc.property(stored, retention, zone, (all, rules, timeZone) => {
        const names = keptOf(all, rules, timeZone);
        for (const group of Map.groupBy(all, ({ etcd }) => etcd).values()) {
          const newest = group.map(({ revision }) => revision).reduce((a, b) => (a > b ? a : b));
          expect(group.some(({ name, revision }) => revision === newest && names.has(name))).toBe(true);
          const youngestMs = Math.max(...group.map(({ atMs }) => atMs));
          expect(group.some(({ name, atMs }) => atMs === youngestMs && names.has(name))).toBe(true);
        }
      }),
      RUNS,
    );
  });

  test("keeps the same when it is repeated without a new backup", () => {
    fc.assert(
      fc.property(stored, retention, zone, (all, rules, timeZone) => {
        const once = keptOf(all, rules, timeZone);
        const twice = keptOf(all.filter(({ name }) => once.has(name)), rules, timeZone); // biome-ignore format: one thing
        expect([...twice].sort()).toEqual([...once].sort());
      }),
      RUNS,
    );
  });

  test("keeps the same in any order, and for each etcd cluster alone", () => {
    fc.assert(
      fc.property(stored, retention, zone, (all, rules, timeZone) => {
        const names = [...keptOf(all, rules, timeZone)].sort();
        expect([...keptOf(all.toReversed(), rules, timeZone)].sort()).toEqual(names);
        const groups = [...Map.groupBy(all, ({ etcd }) => etcd).values()];
        expect(groups.flatMap((group) => [...keptOf(group, rules, timeZone)]).sort()).toEqual(names);
      }),
      RUNS,
    );
  });

  test("keeps what each of its rules keeps alone", () => {
    fc.assert(
      fc.property(stored, retention, zone, (all, rules, timeZone) => {
        const whole = keptOf(all, rules, timeZone);
        const parts = Object.entries(rules).flatMap(([rule, value]) => [...keptOf(all, { [rule]: value }, timeZone)]);
        expect([...new Set([...parts, ...keptOf(all, {}, timeZone)])].sort()).toEqual([...whole].sort());
        for (const group of Map.groupBy(all, ({ etcd }) => etcd).values()) {
          const left = group.filter(({ name }) => whole.has(name));
          expect(left.length).toBeGreaterThanOrEqual(Math.min(group.length, rules.keepLast ?? 1));
        }
      }),
      RUNS,
    );
  });

  test("keeps the same when it is applied after every backup or once at the end", () => {
    // Pruned after every backup or once at the end, the same is left.
    fc.assert(
      fc.property(stored, retention, zone, (all, rules, timeZone) => {
        const inTime = all.toSorted(
          (a, b) => Number(a.revision - b.revision) || a.atMs - b.atMs || (a.name < b.name ? -1 : 1),
        );
        let left: readonly Stored[] = [];
        for (const each of inTime) {
          const now = [...left, each];
          const names = keptOf(now, rules, timeZone);
          left = now.filter(({ name }) => names.has(name));
        }
        expect(left.map(({ name }) => name).sort()).toEqual([...keptOf(inTime, rules, timeZone)].sort());
      }),
      RUNS,
    );
  });
});
