// Which shards this process is to stand for, and which it is to give back.
//   Every process computes the same assignment from what it sees: what nobody holds goes to who has least, and who has two or more above
//   another one gives to that one; what its holder lost without a fault of its own comes back to it, up to its part. So nobody has more than the number of shards divided by that of processes, rounded up, and nothing moves
//   when nothing has changed. Who does not take what it is given is left out of that (takers.ts). Two that see differently for a moment meet at the lease: it says who has it.

/** A lease that was not renewed for so long is prepared for: whoever is to have it has read everything when it is free. In milliseconds. */
const SILENT_MS = 5_000;

export interface ShardView {
  /** Who holds its lease; undefined: nobody. */
  readonly holder: string | undefined;
  /** Whether the lease may be taken now, or is this process's. */
  readonly isFree: boolean;
  /** For how long its holder could have renewed it and did not, in milliseconds. */
  readonly silentMs: number;
  /** Whether this process stands for it or holds it; `leaving`: it is about to give it back. */
  readonly here: "no" | "wanted" | "leaving";
}

export interface ShareView {
  readonly me: string;
  /** Processes that go on; whether this one is among them makes no difference. Who does not renew a lease any more is given nothing, also while it is among them. */
  readonly processes: readonly string[];
  /** Those of them that have been there for so long that they take what they are given at once. To nobody else is anything given back. */
  readonly settled: readonly string[];
  /** Those of them that do not take what they are given, by takers.ts: they are given nothing, but what they have is theirs. This process always takes it. */
  readonly leftOut: ReadonlySet<string>;
  /** By the shard's number. */
  readonly shards: readonly ShardView[];
}

/** Numbers of shards. */
export interface Share {
  readonly take: readonly number[];
  readonly giveBack: readonly number[];
  /** Other processes that are to take something that is free now. */
  readonly given: ReadonlySet<string>;
}

export function shareOf({ me, processes, settled, leftOut, shards }: ShareView): Share {
  const states = shards.map(stateOf);
  const lost = numbers(states, "lost");
  const mine = numbers(states, "mine");
  // By what was seen of them, and not by leases that ran out: an API server that answers nobody lets all of them run out.
  const silent = new Set(shards.filter(isSilent).map(({ holder }) => holder));
  const counts = new Map([...processes.filter((name) => !silent.has(name)), me].map((name) => [name, 0]));
  const takes = (name: string): boolean => name === me || !leftOut.has(name);
  const add = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const holderOf = (shard: number): string => (states[shard] === "mine" ? me : (shards[shard]?.holder ?? ""));
  for (const [shard, state] of states.entries())
    if (state !== "open" && state !== "leaving" && counts.has(holderOf(shard))) add(holderOf(shard));
  const even = Math.ceil(shards.length / [...counts.keys()].filter(takes).length);
  const heirs = new Map<number, string>();
  for (const shard of numbers(states, "open")) {
    const holder = holderOf(shard);
    if (!takes(holder) || (counts.get(holder) ?? even) >= even) continue;
    heirs.set(shard, holder);
    add(holder);
  }
  const take: number[] = [];
  const given = new Set<string>();
  for (const [shard, state] of states.entries()) {
    if (state !== "open" && state !== "leaving") continue;
    const heir = heirs.get(shard) ?? leastOf(counts, takes);
    if (!heirs.has(shard)) add(heir);
    if (state === "leaving") continue;
    if (heir === me) take.push(shard);
    else if (shards[shard]?.isFree === true) given.add(heir);
  }
  const sharing = new Map([...counts].filter(([name]) => name === me || settled.includes(name)));
  return { take, giveBack: [...lost, ...mine.slice(mine.length - surplusOf(sharing, takes, me))], given };
}

/**
 * - `mine`: this process has it, or may have it soon
 * - `leaving`: this process is about to give it back
 * - `lost`: this process stood for it, and another one has it
 * - `held`: another process has it
 * - `open`: nobody has it, or not for much longer; or this process has its lease, and could not give it back
 */
type State = "mine" | "leaving" | "lost" | "held" | "open";

function isOpen(shard: ShardView): boolean {
  return shard.isFree || isSilent(shard);
}

function isSilent({ silentMs }: ShardView): boolean {
  return silentMs >= SILENT_MS;
}

function stateOf(shard: ShardView): State {
  if (shard.here === "leaving") return "leaving";
  if (shard.here === "wanted") return isOpen(shard) ? "mine" : "lost";
  return isOpen(shard) ? "open" : "held";
}

function numbers(states: readonly State[], wanted: State): readonly number[] {
  return [...states.keys()].filter((shard) => states[shard] === wanted);
}

/** How many this process gives to those that take it and have less by two or more. */
function surplusOf(all: ReadonlyMap<string, number>, takes: (name: string) => boolean, me: string): number {
  const counts = new Map(all);
  for (let given = 0; ; ) {
    const least = leastOf(counts, takes);
    const most = mostOf(counts);
    const [low, high] = [counts.get(least) ?? 0, counts.get(most) ?? 0];
    if (high - low < 2) return given;
    counts.set(most, high - 1);
    counts.set(least, low + 1);
    if (most === me) given += 1;
  }
}

function leastOf(counts: ReadonlyMap<string, number>, takes: (name: string) => boolean): string {
  return first(new Map([...counts].filter(([name]) => takes(name))), (a, b) => a - b);
}

function mostOf(counts: ReadonlyMap<string, number>): string {
  return first(counts, (a, b) => b - a);
}

/** The first by this order, and of equals the first by name: each process names the same one. */
function first(counts: ReadonlyMap<string, number>, order: (a: number, b: number) => number): string {
  const [best] = [...counts].toSorted(([a, m], [b, n]) => order(m, n) || (a < b ? -1 : 1));
  return best?.[0] ?? "";
}
