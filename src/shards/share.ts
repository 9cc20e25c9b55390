// Which shards should this process acquire, and which should it give back?
//   Every process computes the same assignment from what it sees. A free shard is assigned to the process with fewest.
//   A process with two or more above another process gives one away. A shard that expired during an outage returns to
//   its last holder, up to its part. So no process gets more than the number of shards divided by that of processes,
//   rounded up, and without a change nothing moves.
//   A process that does not take what it is assigned is skipped (takers.ts). Processes with different views may
//   campaign for the same shard; its lease decides.

/**
 * Work for a shard is prepared when its lease was not renewed for so long, so that the successor's caches are filled
 * when it expires. In milliseconds.
 */
const SILENT_MS = 5_000;

export interface ShardView {
  /** Holder of its lease; undefined: none. */
  readonly holder: string | undefined;
  /** Whether the lease may be acquired now, or belongs to this process. */
  readonly isFree: boolean;
  /** For how long its holder could have renewed it and did not, in milliseconds. */
  readonly silentMs: number;
  /** Whether this process wants or holds it; `leaving`: it is about to give it back. */
  readonly here: "no" | "wanted" | "leaving";
}

export interface ShareView {
  readonly me: string;
  /**
   * Living processes, with or without this one. A process that does not renew some lease is assigned nothing, even if
   * it is among them.
   */
  readonly processes: readonly string[];
  /** Those that have been there long enough to take assigned shards at once. Shards are given back only for these. */
  readonly settled: readonly string[];
  /**
   * Those that do not take what they are assigned, by takers.ts: they keep what they have. Never applies to this
   * process.
   */
  readonly leftOut: ReadonlySet<string>;
  /** Views by the shard's number. */
  readonly shards: readonly ShardView[];
}

/** Numbers of shards. */
export interface Share {
  readonly take: readonly number[];
  readonly giveBack: readonly number[];
  /** Other processes that are assigned a shard that is free now. */
  readonly given: ReadonlySet<string>;
}

export function shareOf({ me, processes, settled, leftOut, shards }: ShareView): Share {
  const states = shards.map(stateOf);
  const lost = numbers(states, "lost");
  const mine = numbers(states, "mine");
  // Judged by the observed silence, not by expired leases: during an outage of the API server all leases expire.
  const silent = new Set(shards.filter(isSilent).map(({ holder }) => holder));
  const counts = new Map([...processes.filter((name) => !silent.has(name)), me].map((name) => [name, 0]));
  const takes = (name: string): boolean => name === me || !leftOut.has(name);
  const add = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const holderOf = (shard: number): string => (states[shard] === "mine" ? me : (shards[shard]?.holder ?? ""));
  for (const [shard, state] of states.entries())
    if (state !== "open" && state !== "leaving" && counts.has(holderOf(shard))) add(holderOf(shard));
  const even = Math.ceil(shards.length / [...counts.keys()].filter(takes).length);
  const assigned = new Map<number, string>();
  for (const shard of numbers(states, "open")) {
    const holder = holderOf(shard);
    if (!takes(holder) || (counts.get(holder) ?? even) >= even) continue;
    assigned.set(shard, holder);
    add(holder);
  }
  const take: number[] = [];
  const given = new Set<string>();
  for (const [shard, state] of states.entries()) {
    if (state !== "open" && state !== "leaving") continue;
    const target = assigned.get(shard) ?? leastOf(counts, takes);
    if (!assigned.has(shard)) add(target);
    if (state === "leaving") continue;
    if (target === me) take.push(shard);
    else if (shards[shard]?.isFree === true) given.add(target);
  }
  const sharing = new Map([...counts].filter(([name]) => name === me || settled.includes(name)));
  return { take, giveBack: [...lost, ...mine.slice(mine.length - surplusOf(sharing, takes, me))], given };
}

/**
 * - `mine`: this process has it, or may acquire it soon
 * - `leaving`: this process is about to give it back
 * - `lost`: this process wanted it, and another process has it
 * - `held`: another process has it
 * - `open`: it is free now or soon; or this process has its lease, and could not give it back
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

/** How many shards this process gives to others that take them and have fewer by two or more. */
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

/** The first by this order, and among equals the first by name: so each process gets the same result. */
function first(counts: ReadonlyMap<string, number>, order: (a: number, b: number) => number): string {
  const [best] = [...counts].toSorted(([a, m], [b, n]) => order(m, n) || (a < b ? -1 : 1));
  return best?.[0] ?? "";
}
