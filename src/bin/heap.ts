import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";

// Why does the operator ask for a collection of garbage?
//   While much is made, V8's heap grows to what that takes. At rest so little garbage is made that V8 hardly comes back to it, and goes on holding
//   what nobody needs any more, compiled code that was last run long ago included: docs/performance.md, `fleet`.
// Why not while there is something to do?
//   A collection that gives back all that can be given back holds up everything else for a tenth of a second, or for several in a large fleet.

/** How often it is looked, in milliseconds. */
const LOOK_EVERY_MS = 30_000;
/** Who uses less of a processor than this is at rest. */
const RESTING_SHARE = 0.25;
/** By how much the heap has to have grown since the last collection that was asked for: less is not worth it. */
const GROWTH = 1.3;

/** What the process knows of itself. */
export interface HeapOfProcess {
  /** What V8 holds, in bytes. */
  readonly totalBytes: () => number;
  /** What the process has used of processors since its start, in milliseconds. */
  readonly cpuMs: () => number;
  /** Gives back all that can be given back; undefined: Node was not started with `--expose-gc`. */
  readonly collect: (() => void) | undefined;
}

/** This process's own. https://nodejs.org/api/cli.html#--expose-gc */
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

/** Asks for a collection when the process has come to rest and its heap has grown; until the signal aborts. Never throws. */
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
