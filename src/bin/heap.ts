import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";

// Why does the operator request garbage collections?
//   Under load V8's heap grows. At rest little garbage arises, so V8 rarely collects. Unused memory, including old
//   compiled code, stays allocated: docs/performance.md, `fleet`.
// Why not under load?
//   A full collection blocks the process for a tenth of a second, or for several seconds in a large fleet.

/** Interval of the check in milliseconds. */
const LOOK_EVERY_MS = 30_000;
/** Share of a CPU below which the process counts as at rest. */
const RESTING_SHARE = 0.25;
/** Growth of the heap since the last requested collection that justifies the next one, as a factor. */
const GROWTH = 1.3;

/** Measurements of the process. */
export interface HeapOfProcess {
  /** Size of V8's heap in bytes. */
  readonly totalBytes: () => number;
  /** CPU time since the start of the process, in milliseconds. */
  readonly cpuMs: () => number;
  /** Runs a full collection; undefined: Node was started without `--expose-gc`. */
  readonly collect: (() => void) | undefined;
}

/** The measurements of this process. */
export function heapOfProcess(): HeapOfProcess {
  const { gc } = globalThis;
  return {
    totalBytes: () => process.memoryUsage().heapTotal,
    cpuMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    },
    collect: gc && (() => gc({ type: "major", execution: "sync", flavor: "last-resort" })),
  };
}

/** Requests a collection when the process is at rest and its heap has grown, until the signal aborts. Never throws. */
export async function keepHeapSmall(heap: HeapOfProcess, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  const { collect } = heap;
  if (collect === undefined) return;
  let afterLast = 0;
  let before = { atMs: clock.monotonicMs(), cpuMs: heap.cpuMs() };
  for (;;) {
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    const now = { atMs: clock.monotonicMs(), cpuMs: heap.cpuMs() };
    const share = (now.cpuMs - before.cpuMs) / (now.atMs - before.atMs);
    before = now;
    if (share >= RESTING_SHARE || heap.totalBytes() < afterLast * GROWTH) continue;
    collect();
    afterLast = heap.totalBytes();
    log.debug({ bytes: afterLast, durationMs: clock.monotonicMs() - now.atMs }, "garbage was collected");
  }
}
