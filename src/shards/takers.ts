// Who takes what it is given, as far as this process has seen.
//   What is free is given to who has least (share.ts), and that one need not take it. Who ends stands on the roll until the last of its work has stopped, and
//   has ever less meanwhile; who may not write a shard's lease, or cannot read its state, has least for ever. None of them can say so at once.
//   It shows by the leases: such a process has just given something back, or takes for a while nothing of what it is given.
// And when others see it otherwise, or one is left out that would have taken it? Then two stand for a shard, and its lease says who has it.

/** Who is given something that is free, and takes nothing for so long, is left out; in milliseconds. Who has just come takes nothing for five seconds, and needs some for its calls. */
const PATIENCE_MS = 10_000;
/**
 * For how long, in milliseconds. A guess: each time it is tried anew, something may be free for PATIENCE_MS, which is a sixtieth of the time; and so long may who can
 * again be without its share.
 */
const LEFT_OUT_MS = 600_000;
/**
 * For so long is left out who has given something back, in milliseconds: whoever ends has ended by then, ten seconds after it was told to. Who has given what it had too
 * much needs nothing meanwhile.
 */
const ENDING_MS = 30_000;

/** All times monotonic, in milliseconds. */
export interface Takers {
  /** By shard: who held its lease when it was last looked at. */
  readonly holders: readonly (string | undefined)[];
  /** By process: since when it has been given something that is free, and has taken nothing. */
  readonly givenSinceMs: ReadonlyMap<string, number>;
  /** By process. */
  readonly leftOutUntilMs: ReadonlyMap<string, number>;
}

/** What a process knows that has just come. */
export const NO_TAKERS: Takers = { holders: [], givenSinceMs: new Map(), leftOutUntilMs: new Map() };

/** After a look at the shards' leases. Who takes something is waited for no longer, and not left out. @param holders by shard */
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

/** After it was computed who is given what. @param names of those that are given something that is free */
export function seenGiven(before: Takers, names: ReadonlySet<string>, nowMs: number): Takers {
  const givenSinceMs = new Map([...names].map((name) => [name, before.givenSinceMs.get(name) ?? nowMs]));
  const late = [...givenSinceMs].filter(([, sinceMs]) => nowMs - sinceMs >= PATIENCE_MS);
  const more = late.map(([name]) => [name, nowMs + LEFT_OUT_MS] as const);
  return { ...before, givenSinceMs, leftOutUntilMs: new Map([...before.leftOutUntilMs, ...more]) };
}

/** Who is given nothing at this moment. */
export function leftOut({ leftOutUntilMs }: Takers, nowMs: number): ReadonlySet<string> {
  return new Set([...leftOutUntilMs].flatMap(([name, untilMs]) => (nowMs < untilMs ? [name] : [])));
}
