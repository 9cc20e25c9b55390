// What did clients see, and can a single copy of each key explain it?
//
// Every write of a key has a different value, so each read identifies the write that it saw. With that, linearizability
// needs no search, see P. Gibbons, E. Korach: Testing Shared Memories, SIAM J. Comput. 26/4, 1997. Take a write and the
// reads that saw it. Their zone is between the first end and the last start among them.
// - First end before last start: the value was present during the whole zone ("held").
// - Otherwise all of them overlapped: one moment within the zone is enough ("brief").
//
// One copy explains a history unless a read ended before its write began, two held zones overlap, or a brief zone lies
// inside a held one.
//
// What about writes with unknown outcome? They may take effect at any time after their start, or never. A write that no
// read saw is left out. One that was seen ends at infinity. test/unit/history.test.ts compares this with a search of
// all orders.

/** One request of one client to one key. */
export interface Operation {
  readonly do: "write" | "read";
  readonly key: string;
  /** The value that was written or read; undefined when a read found nothing, or has no outcome. */
  value: string | undefined;
  /** When the client sent the request, in milliseconds of a monotonic clock. */
  readonly startMs: number;
  /** When the client had its answer, whatever that was; undefined while it waits. */
  endMs: number | undefined;
  /** failed: certainly without effect. unknown: perhaps with effect, perhaps later; or a read without an answer. */
  outcome: "ok" | "failed" | "unknown" | "open";
  /** The client's error, when not "ok". */
  why?: string;
  /** The error of the first try, when that was not "ok". */
  firstWhy?: string;
  /** Whether the client repeats the request, so that its user does not see the failure. */
  isTriedAgain?: boolean;
}

interface Zone {
  readonly value: string | undefined;
  readonly firstEndMs: number;
  readonly lastStartMs: number;
}

/** Number of faults reported for one key: more would hide the first. */
const TOLD_FAULTS = 5;

/** @returns sentences about what a single copy of each key cannot explain; none when the history is linearizable */
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

/**
 * The last zone that began before this moment. The zones are sorted by start and, unless there are other faults,
 * disjoint.
 */
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

/**
 * The final state of a key.
 * @param version number of its writes as counted by etcd
 */
export interface FoundKey {
  readonly value: string | undefined;
  readonly version: number;
}

/**
 * Compares the writes with etcd's own count: reads alone would not show a lost write that no read followed.
 * @param found each key, read after the end of the last write
 * @returns sentences; none when every acknowledged write was counted, and otherwise only writes of unknown outcome
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
