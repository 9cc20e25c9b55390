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
    ["it counts itself, whether or not it is on the roll", { processes: ["b"], shards: [free, free], take: [0] }],
    ["of those that are free it takes its part", { processes: ["a", "b", "c"], shards: [free, free, free], take: [0] }],
    ["the first by name take what is left over", { processes: ["a", "b"], shards: [free, free, free], take: [0, 2] }],
    ["others take what is left over", { processes: ["0", "a"], shards: [free, free, free], take: [1] }],
    ["it takes nothing when it is more than the shards", { processes: ["0", "1", "a"], shards: [free, free] }],
    ["what it has counts", { processes: ["a", "b"], shards: [mine, free] }],
    ["what it has asked for counts", { processes: ["a", "b"], shards: [asked, free] }],
    ["what others hold is theirs", { processes: ["a", "b"], shards: [by("b"), free], take: [1] }],
    ["what others hold counts for them", { processes: ["a", "b"], shards: [mine, by("b"), by("b"), free], take: [3] }],
    ["what is held by one who does not go on is nobody's yet", { processes: ["a"], shards: [mine, by("dead")] }],
    ["a lease that will soon be free is asked for", { processes: ["a"], shards: [mine, by("dead", 5_000)], take: [1] }],
    ["a lease that will be free a little later is not", { processes: ["a"], shards: [mine, by("dead", 4_999)] }],
    [
      "a lease that its holder does not renew is not its holder's any more, and is not given to it again",
      { processes: ["a", "b"], shards: [mine, by("b", 6_000), by("b", 6_000)], take: [1, 2] },
    ],
    [
      "who renews one lease and not another one counts on nothing",
      { processes: ["a", "b", "c"], shards: [mine, by("b"), by("b", 6_000)], take: [] },
    ],
    [
      "nothing is given to who does not renew its lease",
      { processes: ["a", "b"], shards: [mine, mine, by("b", 6_000)], take: [2] },
    ],
    [
      "what it asked for while it ran out it goes on asking for",
      { processes: ["a"], shards: [wantedFrom("dead", 6_000)] },
    ],
    [
      "what it asked for while it ran out it does not give back to who does not renew it",
      { processes: ["a", "b"], shards: [mine, wantedFrom("b", 6_000)] },
    ],
    [
      "what is renewed after all it does not ask for any more",
      { processes: ["a"], shards: [wantedFrom("b", 1_000)], giveBack: [0] },
    ],
    [
      "what another one was faster to take it does not ask for any more, and counts it for that one",
      { processes: ["a", "b"], shards: [wantedFrom("b", 1_000), free], giveBack: [0], take: [1] },
    ],
    [
      "of seven that ran out each comes back to who had it, of three also to the one that had three",
      {
        processes: ["0", "1", "a"],
        shards: [...Array(3).fill(leftBehind), ...Array(2).fill(ranOut("0")), ...Array(2).fill(ranOut("1"))],
        take: [0, 1, 2],
      },
    ],
    ["who comes gets one from who has two more", { processes: ["a", "b"], shards: [mine, mine], giveBack: [1] }],
    ["who has one more keeps it", { processes: ["a", "b"], shards: [mine, mine, by("b")] }],
    ["who comes gets nothing where nobody has two more", { processes: ["a", "b"], shards: [mine] }],
    [
      "of two that have as many the first by name gives",
      { processes: ["a", "b", "c"], shards: [mine, mine, by("b"), by("b")], giveBack: [1] },
    ],
    [
      "of two that have as many the other one does not",
      { processes: ["0", "a", "c"], shards: [mine, mine, by("0"), by("0")] },
    ],
    [
      "who is alone with all gives as many as are due",
      { processes: ["a", "b", "c"], shards: [mine, mine, mine, mine, mine, mine], giveBack: [2, 3, 4, 5] },
    ],
    [
      "two that come get one each, of who has most",
      { processes: ["a", "b", "c", "d"], shards: [mine, mine, by("b"), by("b"), by("b")], giveBack: [1] },
    ],
    [
      "who has just come gets nothing of who has more, since it does not take it yet",
      { processes: ["a", "b"], settled: ["a"], shards: [mine, mine] },
    ],
    [
      "beside one who has just come another one gets what would be due without it",
      { processes: ["a", "b", "c"], settled: ["a", "b"], shards: [mine, mine, mine, mine], giveBack: [2, 3] },
    ],
    [
      "who has just come itself gives back what is due",
      { processes: ["a", "b"], settled: ["b"], shards: [mine, mine], giveBack: [1] },
    ],
    ["what is free is for who has just come, too", { processes: ["a", "b"], settled: ["a"], shards: [mine, free] }],
    ["what is free goes to who comes, and nobody gives anything", { processes: ["a", "b"], shards: [mine, free] }],
    ["what it gives back counts for who gets it", { processes: ["a", "b"], shards: [mine, leaving] }],
    ["what it gives back it does not take again before it is free", { processes: ["a"], shards: [leaving] }],
    [
      "what it could not give back, because nothing arrived, it takes anew",
      { processes: ["a"], shards: [leftBehind], take: [0] },
    ],
    [
      "what it could not give back counts for who takes it, and not before",
      { processes: ["a", "b"], shards: [leftBehind, free], take: [0] },
    ],
    ["what it gives back counts for one of them, and not for two", { processes: ["a", "b"], shards: [leaving, free] }],
    [
      "what another one was faster to take counts for that one where both have as many",
      { processes: ["a", "b"], shards: [mine, wantedFrom("b", 1_000), free], giveBack: [1], take: [2] },
    ],
    [
      "who does not take what it is given is given nothing",
      { processes: ["a", "0"], leftOut: ["0"], shards: [mine, free], take: [1] },
    ],
    [
      "of those that take it the one with least is given it",
      { processes: ["a", "0", "b"], leftOut: ["0"], shards: [mine, free, free], take: [2] },
    ],
    ["nothing is given back for who does not take it", { processes: ["a", "b"], leftOut: ["b"], shards: [mine, mine] }],
    [
      "who does not take anything and has most gives, and others give so much less",
      { processes: ["a", "b", "c"], leftOut: ["b"], shards: [mine, mine, by("b"), by("b"), by("b"), by("b")] },
    ],
    [
      "who does not take anything and has less than others is no reason to give more",
      { processes: ["a", "b", "c"], leftOut: ["b"], shards: [mine, mine, mine, by("b"), by("c")], giveBack: [2] },
    ],
    [
      "a process takes what it is given itself",
      { processes: ["a", "b"], leftOut: ["a"], shards: [by("b"), free], take: [1] },
    ],
    [
      "when nobody else takes anything, one takes all",
      { processes: ["a", "b", "c"], leftOut: ["b", "c"], shards: [free, free], take: [0, 1] },
    ],
    [
      "what ran out for all, since nobody was answered, comes back to who had it",
      { processes: ["a", "b", "c"], shards: [ranOut("c"), ranOut("b"), ranOut("a")], take: [2] },
    ],
    [
      "what ran out for all counts for who had it",
      { processes: ["a", "b"], shards: [mine, ranOut("b"), ranOut("b"), free], take: [3] },
    ],
    ["what ran out of one who does not go on is free", { processes: ["a", "b"], shards: [ranOut("dead")], take: [0] }],
    [
      "what ran out of one who does not take it is free",
      { processes: ["a", "b"], leftOut: ["b"], shards: [mine, ranOut("b")], take: [1] },
    ],
    [
      "where it is two for one and one for the other, what ran out comes back all the same",
      { processes: ["a", "b"], shards: [leftBehind, leftBehind, ranOut("b")], take: [0, 1] },
    ],
    [
      "so it does for the other one",
      { processes: ["0", "a"], shards: [ranOut("0"), ranOut("0"), leftBehind], take: [2] },
    ],
    [
      "of what ran out nobody has back more than its part",
      { processes: ["a", "b"], shards: [ranOut("b"), ranOut("b"), ranOut("b")], take: [2] },
    ],
    ["nor has this one", { processes: ["0", "a"], shards: [leftBehind, leftBehind, leftBehind], take: [0, 1] }],
    [
      "what it has still is part of its part",
      { processes: ["0", "a"], shards: [mine, leftBehind, leftBehind, free], take: [1] },
    ],
    [
      "who does not take it has no part, and so others have more back",
      { processes: ["a", "b", "c"], leftOut: ["c"], shards: [ranOut("b"), ranOut("b"), leftBehind], take: [2] },
    ],
    ["what comes back counts once", { processes: ["a", "b"], shards: [mine, ranOut("b"), free, free], take: [2] }],
    [
      "who does not go on is given nothing, though it holds something still",
      { processes: ["a"], shards: [by("0"), mine, free], take: [2] },
    ],
    ["there is nothing to do without shards", { processes: ["a"], shards: [] }],
  ])("%s", (_title, { processes, settled = processes, leftOut = [], shards, take = [], giveBack = [] }) => {
    const share = shareOf({ me: "a", processes, settled, leftOut: new Set(leftOut), shards });
    expect([share.take, share.giveBack]).toEqual([take, giveBack]);
  });

  test.each<[string, ShardView[], string[]]>([
    ["what is free is waited for", [mine, free], ["b"]],
    ["of several the others are waited for, and not this one", [free, free, free], ["b", "c"]],
    ["a lease that is not free yet is not waited for", [mine, by("dead", 6_000)], []],
    ["what this one is about to give back is not waited for", [mine, leaving], []],
    ["what is held is not waited for", [mine, by("b"), by("c")], []],
    ["what ran out is waited for where it comes back", [mine, ranOut("c"), by("b")], ["c"]],
    ["a lease that this one could not give back is, where it is for another one", [mine, leftBehind], ["b"]],
  ])("who is waited for: %s", (_title, shards, expected) => {
    const processes = ["a", "b", "c"];
    const { given } = shareOf({ me: "a", processes, settled: processes, leftOut: new Set(), shards });
    expect([...given].toSorted()).toEqual(expected);
  });
});

/** All look, then all take and give back; what two ask for, one gets. @returns who holds what in the end, and how often something was given back */
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

test("whoever held what before: everything comes to be held, nobody has two more than another one, and then nothing moves", () => {
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

test("who comes or goes moves no more than is due", () => {
  expect(settled(["a", "b", "c"], ["a", "b", "a", "b"]).moves).toBe(1);
  expect(settled(["a", "b"], ["a", "b", "dead"]).moves).toBe(0);
  expect(settled(["a", "b", "c"], ["a", "b", "c"]).moves).toBe(0);
});
