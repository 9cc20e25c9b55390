// What did clients see, and can a single copy of each key explain it?
//   Every write of a key has a value of its own, so each read tells which write it saw. Then linearizability needs no search
//   (P. Gibbons, E. Korach: Testing Shared Memories, SIAM J. Comput. 26/4, 1997). Take a write and the reads that saw it. Its
//   zone runs between the first end and the last start among them.
//   First end before last start: the value was surely there during all of the zone ("held").
//   Otherwise all of them happened at once: one moment within the zone is enough ("brief").
//   One copy can explain a history unless a read ended before its write began, two held zones overlap, or a brief zone lies
//   inside a held one.
// And what of writes whose outcome is unknown?
//   They may take effect at any time after their start, or never: a write that nobody saw is left out, one that was seen has
//   its end in infinity.
// test/unit/history.test.ts compares this with trying all orders.

/** One request of one client to one key. */
export interface Operation {
  readonly do: "write" | "read";
  readonly key: string;
  /** What was written, or what was read; undefined: a read found nothing, or has no outcome. */
  value: string | undefined;
  /** Milliseconds of a monotonic clock, when the client asked. */
  readonly startMs: number;
  /** The same, when it had its answer, whatever that was; undefined while it waits. */
  endMs: number | undefined;
  /** failed: certainly without effect. unknown: perhaps with effect, perhaps later; or a read without an answer. */
  outcome: "ok" | "failed" | "unknown" | "open";
  /** What the client was told, when not "ok". */
  why?: string;
  /** What the client was told of its first try, when that was not "ok". */
  firstWhy?: string;
  /** Whether the client has made another request of it: then its user does not hear that it failed. */
  isTriedAgain?: boolean;
}

interface Zone {
  readonly value: string | undefined;
  readonly firstEndMs: number;
  readonly lastStartMs: number;
}

/** Faults that are told of one key: more would hide the first. */
const TOLD_FAULTS = 5;

/** @returns what a single copy of each key cannot explain, in sentences; none when the history is linearizable */
export function faultsIn(history: readonly Operation[]): readonly string[] {
  const byKey = Map.groupBy(history, ({ key }) => key);
  return [...byKey].flatMap(([key, operations]) =>
    faultsOfKey(operations)
      .slice(0, TOLD_FAULTS)
      .map((fault) => `key ${key}: ${fault}`),
  );
}

function faultsOfKey(operations: readonly Operation[]): readonly string[] {
  const writes = new Map<string | undefined, Operation>();
  const faults: string[] = [];
  for (const write of operations) {
    if (write.do !== "write" || write.outcome === "failed") continue;
    if (write.value === undefined || writes.has(write.value)) faults.push(`${text(write.value)} was written twice`);
    writes.set(write.value, write);
  }
  const reads = operations.filter((read) => read.do === "read" && read.outcome === "ok");
  const readsOf = Map.groupBy(reads, ({ value }) => value);
  for (const value of readsOf.keys()) {
    if (value !== undefined && !writes.has(value)) faults.push(`${text(value)} was read and never written`);
  }
  const zones = [zoneOf(undefined, INITIAL, readsOf.get(undefined) ?? [])];
  for (const [value, write] of writes) {
    const seen = readsOf.get(value) ?? [];
    const early = seen.find((read) => endOf(read) < write.startMs);
    if (early !== undefined) faults.push(`${text(value)} was read before it was written, at ${at(endOf(early))}`);
    if (write.outcome === "ok" || seen.length > 0) zones.push(zoneOf(value, write, seen));
  }
  return [...faults, ...faultsOfZones(zones)];
}

/** The state before any write: as if a write of "nothing" had ended long ago. */
const INITIAL: Operation = {
  do: "write",
  key: "",
  value: undefined,
  startMs: Number.NEGATIVE_INFINITY,
  endMs: Number.NEGATIVE_INFINITY,
  outcome: "ok",
};

function zoneOf(value: string | undefined, write: Operation, reads: readonly Operation[]): Zone {
  let firstEndMs = endOf(write);
  let lastStartMs = write.startMs;
  for (const read of reads) {
    firstEndMs = Math.min(firstEndMs, endOf(read));
    lastStartMs = Math.max(lastStartMs, read.startMs);
  }
  return { value, firstEndMs, lastStartMs };
}

function endOf({ do: what, outcome, endMs }: Operation): number {
  if (what === "write" && outcome !== "ok") return Number.POSITIVE_INFINITY;
  return endMs ?? Number.POSITIVE_INFINITY;
}

function faultsOfZones(zones: readonly Zone[]): readonly string[] {
  const faults: string[] = [];
  const held = zones
    .filter(({ firstEndMs, lastStartMs }) => firstEndMs < lastStartMs)
    .sort((a, b) => a.firstEndMs - b.firstEndMs);
  for (const [index, zone] of held.entries()) {
    const before = held[index - 1];
    if (before === undefined || zone.firstEndMs >= before.lastStartMs) continue;
    faults.push(`${told(before)} although ${told(zone)}`);
  }
  for (const zone of zones) {
    if (zone.firstEndMs < zone.lastStartMs) continue;
    const around = lastBefore(held, zone.lastStartMs);
    if (around === undefined || zone.firstEndMs >= around.lastStartMs) continue;
    faults.push(
      `${text(zone.value)} came and went between ${at(zone.lastStartMs)} and ${at(zone.firstEndMs)}, although ${told(around)}`,
    );
  }
  return faults;
}

/** The last zone that began before this moment; the zones are sorted by their beginning and, without other faults, apart. */
function lastBefore(held: readonly Zone[], ms: number): Zone | undefined {
  let low = 0;
  let high = held.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (held[middle]!.firstEndMs < ms) low = middle + 1;
    else high = middle;
  }
  return held[low - 1];
}

/** A key as it is found when all is over. @param version how often it was written, by etcd's own count */
export interface FoundKey {
  readonly value: string | undefined;
  readonly version: number;
}

/**
 * What became of the writes, by etcd's own count: registers alone would not show a lost write that nobody looked at.
 * @param found of each key, read after the last write's end
 * @returns sentences; none when every acknowledged write was counted, and nothing else but writes of unknown outcome
 */
export function miscountsIn(history: readonly Operation[], found: ReadonlyMap<string, FoundKey>): readonly string[] {
  return [...found].flatMap(([key, { version }]) => {
    const writes = history.filter((operation) => operation.do === "write" && operation.key === key);
    const acknowledged = writes.filter(({ outcome }) => outcome === "ok").length;
    const possible = writes.filter(({ outcome }) => outcome !== "failed").length;
    if (version < acknowledged) return [`key ${key}: ${acknowledged} writes were acknowledged, ${version} are there`];
    return version > possible ? [`key ${key}: ${possible} writes were made, ${version} are there`] : [];
  });
}

function told({ value, firstEndMs, lastStartMs }: Zone): string {
  return `${text(value)} was there from ${at(firstEndMs)} to ${at(lastStartMs)}`;
}

function text(value: string | undefined): string {
  return value === undefined ? "no value" : `"${value}"`;
}

function at(ms: number): string {
  return Number.isFinite(ms) ? `${ms.toFixed(1)} ms` : "the beginning";
}
