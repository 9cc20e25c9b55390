import { expect } from "vitest";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { Random } from "#kit/world/random.ts";
import { shardNumber } from "#shards/belonging.ts";
import { Leases, ShardProcess } from "./shard-process.ts";

/** So many clusters that every shard has some. */
const CLUSTERS = Array.from({ length: 24 }, (_, n) => `etcd-${n}`);

const shardsOfClusters = new Map<number, readonly number[]>();

/** The shard of each cluster, for this number of shards. */
function shardsOf(of: number): readonly number[] {
  const known = shardsOfClusters.get(of) ?? CLUSTERS.map((name) => shardNumber("fleet", name, of));
  shardsOfClusters.set(of, known);
  return known;
}

/**
 * Processes that lead the shards of clusters. Checks whenever time passes that no cluster has two processes that may
 * act on it.
 * @param seed decides the pauses of each process between its reads of the group's leases
 */
export function shardFleet(seed = 1) {
  const clock = new FakeClock(undefined, 1);
  const leases = new Leases("here");
  const all: ShardProcess[] = [];
  const process = (name: string, shards: number, of = leases): ShardProcess => {
    const made = new ShardProcess(name, shards, of, clock, randomOf(seed + all.length));
    all.push(made);
    return made;
  };
  /** How many terms may act on each cluster now, including those of dead processes. */
  const deciders = (of = all): readonly number[] => {
    const acting = of.flatMap(({ terms }) => terms.filter(({ mayAct }) => mayAct()));
    return CLUSTERS.map((_, cluster) => acting.filter(({ shard, of }) => shardsOf(of)[cluster] === shard).length);
  };
  const ledAtMs = CLUSTERS.map(() => clock.monotonicMs());
  let gapMs = 0;
  const look = (): void => {
    expect(Math.max(...deciders())).toBeLessThanOrEqual(1);
    // A frozen process may act, but does not.
    for (const [cluster, count] of deciders(all.filter(({ frozen }) => !frozen)).entries()) {
      if (count === 0) gapMs = Math.max(gapMs, clock.monotonicMs() - (ledAtMs[cluster] ?? 0));
      else ledAtMs[cluster] = clock.monotonicMs();
    }
  };
  const advance = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 500) {
      await clock.advance(Math.min(500, leftMs));
      look();
    }
  };
  /** @returns the longest time since the last call in which no process could act on some cluster, in milliseconds */
  const longestGap = (): number => {
    const longest = gapMs;
    gapMs = 0;
    return longest;
  };
  /**
   * @returns milliseconds until every cluster has exactly one process that may act; Infinity when that takes too long
   */
  const untilLed = async (withinMs = 60_000): Promise<number> => {
    for (let waitedMs = 0; waitedMs <= withinMs; waitedMs += 500) {
      if (deciders().every((count) => count === 1)) return waitedMs;
      await advance(500);
    }
    return Number.POSITIVE_INFINITY;
  };
  const end = async (): Promise<void> => {
    for (const each of all)
      Object.assign(each, { fate: "arrives", groupFate: undefined, frozen: false, travelMs: 0 }).end();
    await clock.advance(60_000);
  };
  return { clock, leases, process, advance, untilLed, longestGap, end, all };
}

function randomOf(seed: number): () => number {
  const random = new Random(seed);
  return () => random.next();
}
