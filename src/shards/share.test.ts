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
    ["alone, it takes all", { processes: ["a"], shards: [free, free, free], take: [0, 1, 2] }],
    ["it counts itself, even if it is not on the roll", { processes: ["b"], shards: [free, free], take: [0] }],
    ["it takes its part of the free ones", { processes: ["a", "b", "c"], shards: [free, free, free], take: [0] }],
    ["the first by name take the remainder", { processes: ["a", "b"], shards: [free, free, free], take: [0, 2] }],
    ["others take the remainder", { processes: ["0", "a"], shards: [free, free, free], take: [1] }],
    [
      "it takes nothing when there are more processes than shards",
      { processes: ["0", "1", "a"], shards: [free, free] },
    ],
    ["its own count", { processes: ["a", "b"], shards: [mine, free] }],
    ["the ones that it campaigns for count", { processes: ["a", "b"], shards: [asked, free] }],
    ["it does not take what others hold", { processes: ["a", "b"], shards: [by("b"), free], take: [1] }],
    ["what others hold counts for them", { processes: ["a", "b"], shards: [mine, by("b"), by("b"), free], take: [3] }],
    ["what a dead process holds is not free yet", { processes: ["a"], shards: [mine, by("dead")] }],
    [
      "a lease that will soon be free is prepared for",
      { processes: ["a"], shards: [mine, by("dead", 5_000)], take: [1] },
    ],
    ["a lease that will be free a little later is not", { processes: ["a"], shards: [mine, by("dead", 4_999)] }],
    [
      "a lease that its holder does not renew does not count for it, and is not assigned to it again",
      { processes: ["a", "b"], shards: [mine, by("b", 6_000), by("b", 6_000)], take: [1, 2] },
    ],
    [
      "a process that renews only some leases is assigned nothing",
      { processes: ["a", "b", "c"], shards: [mine, by("b"), by("b", 6_000)], take: [] },
    ],
    [
      "a process that does not renew its lease is assigned nothing",
      { processes: ["a", "b"], shards: [mine, mine, by("b", 6_000)], take: [2] },
    ],
    ["it keeps campaigning for an expiring lease", { processes: ["a"], shards: [wantedFrom("dead", 6_000)] }],
    [
      "it does not leave an expiring lease to a holder that does not renew it",
      { processes: ["a", "b"], shards: [mine, wantedFrom("b", 6_000)] },
    ],
    [
      "it stops campaigning for a lease that is renewed after all",
      { processes: ["a"], shards: [wantedFrom("b", 1_000)], giveBack: [0] },
    ],
    [
      "it stops campaigning for what another process has acquired, and counts it for that one",
      { processes: ["a", "b"], shards: [wantedFrom("b", 1_000), free], giveBack: [0], take: [1] },
    ],
    [
      "of seven expired ones each returns to its holder, even three to one process",
      {
        processes: ["0", "1", "a"],
        shards: [...Array(3).fill(leftBehind), ...Array(2).fill(ranOut("0")), ...Array(2).fill(ranOut("1"))],
        take: [0, 1, 2],
      },
    ],
    [
      "a new process gets one from a process with two more",
      { processes: ["a", "b"], shards: [mine, mine], giveBack: [1] },
    ],
    ["a process with one more keeps it", { processes: ["a", "b"], shards: [mine, mine, by("b")] }],
    ["a new process gets none where no process has two more", { processes: ["a", "b"], shards: [mine] }],
    [
      "of two with as many the first by name gives",
      { processes: ["a", "b", "c"], shards: [mine, mine, by("b"), by("b")], giveBack: [1] },
    ],
    ["of two with as many the second does not", { processes: ["0", "a", "c"], shards: [mine, mine, by("0"), by("0")] }],
    [
      "a process with all gives as many as are due",
      { processes: ["a", "b", "c"], shards: [mine, mine, mine, mine, mine, mine], giveBack: [2, 3, 4, 5] },
    ],
    [
      "two new processes get one each, from the process with most",
      { processes: ["a", "b", "c", "d"], shards: [mine, mine, by("b"), by("b"), by("b")], giveBack: [1] },
    ],
    [
      "nothing is given back for a process that has just joined, since it takes nothing yet",
      { processes: ["a", "b"], settled: ["a"], shards: [mine, mine] },
    ],
    [
      "a process that has just joined does not reduce what another process gets",
      { processes: ["a", "b", "c"], settled: ["a", "b"], shards: [mine, mine, mine, mine], giveBack: [2, 3] },
    ],
    [
      "a process that has just joined itself gives back what is due",
      { processes: ["a", "b"], settled: ["b"], shards: [mine, mine], giveBack: [1] },
    ],
    [
      "a free one may be assigned to a process that has just joined",
      { processes: ["a", "b"], settled: ["a"], shards: [mine, free] },
    ],
    [
      "a free one is assigned to a new process, and none is given back",
      { processes: ["a", "b"], shards: [mine, free] },
    ],
    ["one that it gives back counts for the new holder", { processes: ["a", "b"], shards: [mine, leaving] }],
    ["it does not take back one that is not free yet", { processes: ["a"], shards: [leaving] }],
    [
      "it takes again what it could not give back during an outage",
      { processes: ["a"], shards: [leftBehind], take: [0] },
    ],
    [
      "what it could not give back counts for the process that takes it, and not before",
      { processes: ["a", "b"], shards: [leftBehind, free], take: [0] },
    ],
    ["one that it gives back counts for a single process", { processes: ["a", "b"], shards: [leaving, free] }],
    [
      "one that another process was faster to take counts for that process",
      { processes: ["a", "b"], shards: [mine, wantedFrom("b", 1_000), free], giveBack: [1], take: [2] },
    ],
    [
      "a process that takes nothing is assigned nothing",
      { processes: ["a", "0"], leftOut: ["0"], shards: [mine, free], take: [1] },
    ],
    [
      "of the others the one with fewest is assigned it",
      { processes: ["a", "0", "b"], leftOut: ["0"], shards: [mine, free, free], take: [2] },
    ],
    [
      "nothing is given back for a process that takes nothing",
      { processes: ["a", "b"], leftOut: ["b"], shards: [mine, mine] },
    ],
    [
      "a process that takes nothing and has most gives, so that others give less",
      { processes: ["a", "b", "c"], leftOut: ["b"], shards: [mine, mine, by("b"), by("b"), by("b"), by("b")] },
    ],
    [
      "a process that takes nothing and has few is no reason to give",
      { processes: ["a", "b", "c"], leftOut: ["b"], shards: [mine, mine, mine, by("b"), by("c")], giveBack: [2] },
    ],
    ["a process always takes its own", { processes: ["a", "b"], leftOut: ["a"], shards: [by("b"), free], take: [1] }],
    [
      "when no other process takes anything, one takes all",
      { processes: ["a", "b", "c"], leftOut: ["b", "c"], shards: [free, free], take: [0, 1] },
    ],
    [
      "what expired for all during an outage returns to its holders",
      { processes: ["a", "b", "c"], shards: [ranOut("c"), ranOut("b"), ranOut("a")], take: [2] },
    ],
    [
      "what expired for all counts for its holders",
      { processes: ["a", "b"], shards: [mine, ranOut("b"), ranOut("b"), free], take: [3] },
    ],
    ["an expired one of a dead process is free", { processes: ["a", "b"], shards: [ranOut("dead")], take: [0] }],
    [
      "an expired one of a process that takes nothing is free",
      { processes: ["a", "b"], leftOut: ["b"], shards: [mine, ranOut("b")], take: [1] },
    ],
    [
      "expired ones return even if they were spread unevenly",
      { processes: ["a", "b"], shards: [leftBehind, leftBehind, ranOut("b")], take: [0, 1] },
    ],
    [
      "expired ones return even if they were spread unevenly, to the other process, too",
      { processes: ["0", "a"], shards: [ranOut("0"), ranOut("0"), leftBehind], take: [2] },
    ],
    [
      "no process gets back more expired ones than its part",
      { processes: ["a", "b"], shards: [ranOut("b"), ranOut("b"), ranOut("b")], take: [2] },
    ],
    [
      "this process gets back no more than its part either",
      { processes: ["0", "a"], shards: [leftBehind, leftBehind, leftBehind], take: [0, 1] },
    ],
    [
      "those that it still has count for its part",
      { processes: ["0", "a"], shards: [mine, leftBehind, leftBehind, free], take: [1] },
    ],
    [
      "a process that takes nothing has no part, so others get back more",
      { processes: ["a", "b", "c"], leftOut: ["c"], shards: [ranOut("b"), ranOut("b"), leftBehind], take: [2] },
    ],
    ["one that returns counts once", { processes: ["a", "b"], shards: [mine, ranOut("b"), free, free], take: [2] }],
    [
      "a dead process is assigned nothing, even if it still holds one",
      { processes: ["a"], shards: [by("0"), mine, free], take: [2] },
    ],
    ["there is nothing to do without shards", { processes: ["a"], shards: [] }],
  ])("%s", (_title, { processes, settled = processes, leftOut = [], shards, take = [], giveBack = [] }) => {
    const share = shareOf({ me: "a", processes, settled, leftOut: new Set(leftOut), shards });
    expect([share.take, share.giveBack]).toEqual([take, giveBack]);
  });

  test.each<[string, ShardView[], string[]]>([
    ["the process for a free one", [mine, free], ["b"]],
    ["several, without this process", [free, free, free], ["b", "c"]],
    ["none for a lease that is not free yet", [mine, by("dead", 6_000)], []],
    ["none for one that this process is about to give back", [mine, leaving], []],
    ["none for held ones", [mine, by("b"), by("c")], []],
    ["the last holder of an expired one", [mine, ranOut("c"), by("b")], ["c"]],
    ["the process for one that this process could not give back", [mine, leftBehind], ["b"]],
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

test("from any start, every shard gets held, no process has two more than another, and then nothing moves", () => {
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
