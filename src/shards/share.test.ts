import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ShardView, shareOf } from "./share.ts";

const free: ShardView = { holder: undefined, isFree: true, silentMs: 0, here: "no" };
const mine: ShardView = { holder: "a", isFree: true, silentMs: 0, here: "wanted" };
const asked: ShardView = { holder: undefined, isFree: true, silentMs: 0, here: "wanted" };
const leaving: ShardView = { holder: "a", isFree: true, silentMs: 0, here: "leaving" };
const leftBehind: ShardView = { holder: "a", isFree: true, silentMs: 0, here: "no" };
const by = (holder: string, silentMs = 1_000): ShardView => ({ holder, isFree: false, silentMs, here: "no" });
const ranOut = (holder: string): ShardView => ({ holder, isFree: true, silentMs: 0, here: "no" });
const wantedFrom = (holder: string, silentMs: number): ShardView => ({ ...by(holder, silentMs), here: "wanted" });

describe("which shards a process takes and gives back", () => {
  test.each<
    [
      string,
      {
        processes: string[];
        settled?: string[];
        leftOut?: string[];
        shards: ShardView[];
        take?: number[];
        giveBack?: number[];
      },
    ]
  >([
    ["a process without others takes all shards", { processes: ["a"], shards: [free, free, free], take: [0, 1, 2] }],
    [
      "a process counts itself even if the lease does not list it",
      { processes: ["b"], shards: [free, free], take: [0] },
    ],
    [
      "a process takes its part of the free shards",
      { processes: ["a", "b", "c"], shards: [free, free, free], take: [0] },
    ],
    [
      "the first processes by name take the remainder of the shards",
      { processes: ["a", "b"], shards: [free, free, free], take: [0, 2] },
    ],
    [
      "a process that is not among the first by name takes no remainder",
      { processes: ["0", "a"], shards: [free, free, free], take: [1] },
    ],
    [
      "the last process by name takes nothing when there are more processes than shards",
      { processes: ["0", "1", "a"], shards: [free, free] },
    ],
    ["shards that a process holds count for its part", { processes: ["a", "b"], shards: [mine, free] }],
    ["shards that a process campaigns for count for its part", { processes: ["a", "b"], shards: [asked, free] }],
    ["a process does not take shards that others hold", { processes: ["a", "b"], shards: [by("b"), free], take: [1] }],
    [
      "shards that others hold count for their parts",
      { processes: ["a", "b"], shards: [mine, by("b"), by("b"), free], take: [3] },
    ],
    [
      "a shard of a dead process is not free before its lease expires",
      { processes: ["a"], shards: [mine, by("dead")] },
    ],
    [
      "a process prepares for a lease that was last renewed 5 s ago",
      { processes: ["a"], shards: [mine, by("dead", 5_000)], take: [1] },
    ],
    [
      "a process does not prepare for a lease that was renewed less than 5 s ago",
      { processes: ["a"], shards: [mine, by("dead", 4_999)] },
    ],
    [
      "a lease that is not renewed is neither counted for its holder nor assigned to it",
      { processes: ["a", "b"], shards: [mine, by("b", 6_000), by("b", 6_000)], take: [1, 2] },
    ],
    [
      "a process that renews only some of its leases is assigned nothing",
      { processes: ["a", "b", "c"], shards: [mine, by("b"), by("b", 6_000)], take: [] },
    ],
    [
      "a process that does not renew its lease is assigned nothing",
      { processes: ["a", "b"], shards: [mine, mine, by("b", 6_000)], take: [2] },
    ],
    [
      "a process keeps campaigning for a lease that is expiring",
      { processes: ["a"], shards: [wantedFrom("dead", 6_000)] },
    ],
    [
      "a process does not leave an expiring lease to a holder that does not renew it",
      { processes: ["a", "b"], shards: [mine, wantedFrom("b", 6_000)] },
    ],
    [
      "a process stops campaigning for a lease that its holder renews again",
      { processes: ["a"], shards: [wantedFrom("b", 1_000)], giveBack: [0] },
    ],
    [
      "a process stops campaigning for a shard that another process acquired, and counts it for that process",
      { processes: ["a", "b"], shards: [wantedFrom("b", 1_000), free], giveBack: [0], take: [1] },
    ],
    [
      "of seven shards with expired leases each returns to its last holder, even if one process gets three",
      {
        processes: ["0", "1", "a"],
        shards: [...Array(3).fill(leftBehind), ...Array(2).fill(ranOut("0")), ...Array(2).fill(ranOut("1"))],
        take: [0, 1, 2],
      },
    ],
    [
      "a process gives a shard back for a new process with two fewer",
      { processes: ["a", "b"], shards: [mine, mine], giveBack: [1] },
    ],
    [
      "a process keeps its shards when another process has one fewer",
      { processes: ["a", "b"], shards: [mine, mine, by("b")] },
    ],
    ["a process keeps its only shard when a new process has none", { processes: ["a", "b"], shards: [mine] }],
    [
      "of two processes with equally many shards the first by name gives one back",
      { processes: ["a", "b", "c"], shards: [mine, mine, by("b"), by("b")], giveBack: [1] },
    ],
    [
      "of two processes with equally many shards the second by name gives none back",
      { processes: ["0", "a", "c"], shards: [mine, mine, by("0"), by("0")] },
    ],
    [
      "a process with all shards gives back as many as new processes are due",
      { processes: ["a", "b", "c"], shards: [mine, mine, mine, mine, mine, mine], giveBack: [2, 3, 4, 5] },
    ],
    [
      "two new processes get one shard each, from the process with the most at that point",
      { processes: ["a", "b", "c", "d"], shards: [mine, mine, by("b"), by("b"), by("b")], giveBack: [1] },
    ],
    [
      "no shard is given back for a process that has just joined, since it takes none yet",
      { processes: ["a", "b"], settled: ["a"], shards: [mine, mine] },
    ],
    [
      "a process that has just joined does not reduce what another new process gets",
      { processes: ["a", "b", "c"], settled: ["a", "b"], shards: [mine, mine, mine, mine], giveBack: [2, 3] },
    ],
    [
      "a process that has just joined gives back what others are due",
      { processes: ["a", "b"], settled: ["b"], shards: [mine, mine], giveBack: [1] },
    ],
    [
      "a free shard may be assigned to a process that has just joined",
      { processes: ["a", "b"], settled: ["a"], shards: [mine, free] },
    ],
    [
      "a free shard is assigned to a new process, so none is given back",
      { processes: ["a", "b"], shards: [mine, free] },
    ],
    ["a shard that a process gives back counts for the new holder", { processes: ["a", "b"], shards: [mine, leaving] }],
    ["a process does not take a shard that it is still giving back", { processes: ["a"], shards: [leaving] }],
    [
      "a process takes a shard again that it could not give back during an outage",
      { processes: ["a"], shards: [leftBehind], take: [0] },
    ],
    [
      "a shard that could not be given back counts for the process that takes it, and not before",
      { processes: ["a", "b"], shards: [leftBehind, free], take: [0] },
    ],
    ["a shard that is given back counts for one process only", { processes: ["a", "b"], shards: [leaving, free] }],
    [
      "a shard that another process took first counts for that process",
      { processes: ["a", "b"], shards: [mine, wantedFrom("b", 1_000), free], giveBack: [1], take: [2] },
    ],
    [
      "a process that takes no shards is assigned none",
      { processes: ["a", "0"], leftOut: ["0"], shards: [mine, free], take: [1] },
    ],
    [
      "of the other processes the one with the fewest shards is assigned a free shard",
      { processes: ["a", "0", "b"], leftOut: ["0"], shards: [mine, free, free], take: [2] },
    ],
    [
      "no shard is given back for a process that takes none",
      { processes: ["a", "b"], leftOut: ["b"], shards: [mine, mine] },
    ],
    [
      "a process that takes none and has the most gives shards back, so others give none",
      { processes: ["a", "b", "c"], leftOut: ["b"], shards: [mine, mine, by("b"), by("b"), by("b"), by("b")] },
    ],
    [
      "a shard is given back for a process with few shards, but not for one that takes none",
      { processes: ["a", "b", "c"], leftOut: ["b"], shards: [mine, mine, mine, by("b"), by("c")], giveBack: [2] },
    ],
    [
      "a process takes its part even if it is listed as one that takes none",
      { processes: ["a", "b"], leftOut: ["a"], shards: [by("b"), free], take: [1] },
    ],
    [
      "a process takes all shards when no other process takes any",
      { processes: ["a", "b", "c"], leftOut: ["b", "c"], shards: [free, free], take: [0, 1] },
    ],
    [
      "shards with leases that all expired in an outage return to their last holders",
      { processes: ["a", "b", "c"], shards: [ranOut("c"), ranOut("b"), ranOut("a")], take: [2] },
    ],
    [
      "shards with expired leases count for their last holders",
      { processes: ["a", "b"], shards: [mine, ranOut("b"), ranOut("b"), free], take: [3] },
    ],
    [
      "a shard with an expired lease of a dead process is free",
      { processes: ["a", "b"], shards: [ranOut("dead")], take: [0] },
    ],
    [
      "a shard with an expired lease of a process that takes none is free",
      { processes: ["a", "b"], leftOut: ["b"], shards: [mine, ranOut("b")], take: [1] },
    ],
    [
      "shards with expired leases return to their last holders even if one process had more",
      { processes: ["a", "b"], shards: [leftBehind, leftBehind, ranOut("b")], take: [0, 1] },
    ],
    [
      "a process takes only its own shards back even if another process had more",
      { processes: ["0", "a"], shards: [ranOut("0"), ranOut("0"), leftBehind], take: [2] },
    ],
    [
      "another process gets back no more shards with expired leases than its part",
      { processes: ["a", "b"], shards: [ranOut("b"), ranOut("b"), ranOut("b")], take: [2] },
    ],
    [
      "a process takes back no more shards with expired leases than its part",
      { processes: ["0", "a"], shards: [leftBehind, leftBehind, leftBehind], take: [0, 1] },
    ],
    [
      "shards that a process still holds count for its part when it takes others back",
      { processes: ["0", "a"], shards: [mine, leftBehind, leftBehind, free], take: [1] },
    ],
    [
      "a process that takes none has no part, so others get back more",
      { processes: ["a", "b", "c"], leftOut: ["c"], shards: [ranOut("b"), ranOut("b"), leftBehind], take: [2] },
    ],
    [
      "a shard that returns to its last holder counts once",
      { processes: ["a", "b"], shards: [mine, ranOut("b"), free, free], take: [2] },
    ],
    [
      "a dead process is assigned no shard even if it still holds one",
      { processes: ["a"], shards: [by("0"), mine, free], take: [2] },
    ],
    ["a process does nothing when there are no shards", { processes: ["a"], shards: [] }],
  ])("%s", (_title, { processes, settled = processes, leftOut = [], shards, take = [], giveBack = [] }) => {
    const share = shareOf({ me: "a", processes, settled, leftOut: new Set(leftOut), shards });
    expect([share.take, share.giveBack]).toEqual([take, giveBack]);
  });

  test.each<[string, ShardView[], string[]]>([
    ["the process to which it is assigned", [mine, free], ["b"]],
    ["several processes, but not this one", [free, free, free], ["b", "c"]],
    ["none when its lease is not free yet", [mine, by("dead", 6_000)], []],
    ["none when this process is about to give it back", [mine, leaving], []],
    ["none when all shards are held", [mine, by("b"), by("c")], []],
    ["the last holder when its lease has expired", [mine, ranOut("c"), by("b")], ["c"]],
    ["another process when this process could not give it back", [mine, leftBehind], ["b"]],
  ])("processes that are expected to take a free shard: %s", (_title, shards, expected) => {
    const processes = ["a", "b", "c"];
    const { given } = shareOf({ me: "a", processes, settled: processes, leftOut: new Set(), shards });
    expect([...given].toSorted()).toEqual(expected);
  });
});

/**
 * All processes compute, then take and give back; a shard that two want is taken by one. @returns the final holders, and
 * how often a shard was given back
 */
function settled(names: readonly string[], start: readonly (string | undefined)[]) {
  const holders = [...start];
  let moves = 0;
  for (let round = 0; round < 20; round++) {
    const shares = names.map((me) => {
      const shards = holders.map((holder) => ({
        holder,
        isFree: holder === undefined || holder === me,
        silentMs: names.includes(holder ?? "") ? 1_000 : 10_000,
        here: holder === me ? ("wanted" as const) : ("no" as const),
      }));
      return { me, ...shareOf({ me, processes: names, settled: names, leftOut: new Set(), shards }) };
    });
    for (const { giveBack } of shares) for (const shard of giveBack) holders[shard] = undefined;
    moves += shares.reduce((sum, { giveBack }) => sum + giveBack.length, 0);
    for (const { me, take } of shares) for (const shard of take) holders[shard] ??= me;
    for (const { me, take } of shares)
      for (const shard of take) if (!names.includes(holders[shard] ?? "")) holders[shard] = me;
  }
  return { holders, moves };
}

test("from any start all shards become held, processes differ by at most one, and no shard moves afterwards", () => {
  const name = fc.constantFrom("a", "b", "c", "d", "e");
  const names = fc.uniqueArray(name, { minLength: 1 });
  const start = fc.array(fc.option(fc.constantFrom("a", "b", "c", "d", "e", "dead"), { nil: undefined }), {
    minLength: 1,
    maxLength: 16,
  });
  fc.assert(
    fc.property(names, start, (all, before) => {
      const { holders } = settled(all, before);
      const counts = all.map((each) => holders.filter((holder) => holder === each).length);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(before.length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      expect(settled(all, holders)).toEqual({ holders, moves: 0 });
    }),
  );
});

test("when a process joins or ends, no more shards move than necessary", () => {
  expect(settled(["a", "b", "c"], ["a", "b", "a", "b"]).moves).toBe(1);
  expect(settled(["a", "b"], ["a", "b", "dead"]).moves).toBe(0);
  expect(settled(["a", "b", "c"], ["a", "b", "c"]).moves).toBe(0);
});
