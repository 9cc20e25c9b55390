// Which processes take the shards that they are assigned, as far as this process has seen?
//   A free shard is assigned to the process with fewest (share.ts), which may not take it. A stopping process is on the
//   roll until the last of its work has stopped, and has ever fewer shards. A process that may not write a shard's
//   lease, or cannot fill its caches, has fewest for ever. None of them can announce that at once.
//   The leases show it: such a process has just given a shard back, or takes for a while none that it is assigned.
// What if processes judge differently, or one is skipped by mistake? Then two campaign for a shard, and its lease
// decides.

/**
 * A process that takes no assigned shard for so long is skipped; in milliseconds. A new process takes nothing for five
 * seconds, and its calls need some time.
 */
const PATIENCE_MS = 10_000;
/**
 * For how long it is skipped, in milliseconds. An estimate: at each retry a shard may be free for PATIENCE_MS, a
 * sixtieth of the time. A recovered process may be without its share for as long.
 */
const LEFT_OUT_MS = 600_000;
/**
 * For how long a process is skipped that has given a shard back, in milliseconds. A stopping process has ended by then,
 * ten seconds after its signal. A process that only gave away a surplus needs none in that time.
 */
const ENDING_MS = 30_000;

/** All times monotonic, in milliseconds. */
export interface Takers {
  /** Holder of each shard's lease at the last read. */
  readonly holders: readonly (string | undefined)[];
  /** Since when each process has been assigned a free shard without taking any. */
  readonly givenSinceMs: ReadonlyMap<string, number>;
  /** Until when each process is skipped. */
  readonly leftOutUntilMs: ReadonlyMap<string, number>;
}

/** The state of a process that has just started. */
export const NO_TAKERS: Takers = { holders: [], givenSinceMs: new Map(), leftOutUntilMs: new Map() };

/**
 * Updates the state after a read of the shards' leases. A process that takes a shard is no longer skipped. @param
 * holders by shard
 */
export function seenHolders(before: Takers, holders: readonly (string | undefined)[], nowMs: number): Takers {
  const changed = [...holders].flatMap((holder, shard) => {
    const former = before.holders[shard];
    return former === holder ? [] : [{ former, holder }];
  });
  const takers = new Set(changed.map(({ holder }) => holder));
  const without = (times: ReadonlyMap<string, number>) => new Map([...times].filter(([name]) => !takers.has(name)));
  const leftOutUntilMs = without(before.leftOutUntilMs);
  for (const { former, holder } of changed)
    if (former !== undefined && holder === undefined)
      leftOutUntilMs.set(former, Math.max(leftOutUntilMs.get(former) ?? nowMs, nowMs + ENDING_MS));
  return { holders, givenSinceMs: without(before.givenSinceMs), leftOutUntilMs };
}

/** Updates the state after the assignment. @param names processes that are assigned a free shard */
export function seenGiven(before: Takers, names: ReadonlySet<string>, nowMs: number): Takers {
  const givenSinceMs = new Map([...names].map((name) => [name, before.givenSinceMs.get(name) ?? nowMs]));
  const late = [...givenSinceMs].filter(([, sinceMs]) => nowMs - sinceMs >= PATIENCE_MS);
  const more = late.map(([name]) => [name, nowMs + LEFT_OUT_MS] as const);
  return { ...before, givenSinceMs, leftOutUntilMs: new Map([...before.leftOutUntilMs, ...more]) };
}

/** Processes that are skipped at this moment. */
export function leftOut({ leftOutUntilMs }: Takers, nowMs: number): ReadonlySet<string> {
  return new Set([...leftOutUntilMs].flatMap(([name, untilMs]) => (nowMs < untilMs ? [name] : [])));
}
