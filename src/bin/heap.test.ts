import { expect, test } from "vitest";
import { silentLog } from "#base/log.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { type HeapOfProcess, keepHeapSmall } from "./heap.ts";

const MB = 1_000_000;

/** A process with a heap of 90 MB, of which 30 are garbage. A collection reduces it to 60. */
function processAtRest() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const state = { totalBytes: 90 * MB, cpuMs: 5_000, collections: 0 };
  const heap: HeapOfProcess = {
    totalBytes: () => state.totalBytes,
    cpuMs: () => state.cpuMs,
    collect: () => {
      state.collections += 1;
      state.totalBytes = 60 * MB;
    },
  };
  const ended = keepHeapSmall(heap, clock, silentLog, stop.signal);
  /** Advances half a minute, with so much CPU use. */
  const halfMinute = async (share: number) => {
    state.cpuMs += 30_000 * share;
    await clock.advance(30_000);
    return state.collections;
  };
  return { state, clock, stop, ended, halfMinute };
}

test("heap: garbage is not collected under load, and is collected at rest", async () => {
  const { halfMinute } = processAtRest();
  expect(await halfMinute(0.9)).toBe(0);
  expect(await halfMinute(0.25)).toBe(0);
  expect(await halfMinute(0.05)).toBe(1);
});

test("heap: garbage is collected again once the heap has grown by 30 %", async () => {
  const { state, halfMinute } = processAtRest();
  expect(await halfMinute(0.01)).toBe(1);
  state.totalBytes = 77 * MB;
  expect(await halfMinute(0.01)).toBe(1);
  state.totalBytes = 78 * MB;
  expect(await halfMinute(0.01)).toBe(2);
  expect(await halfMinute(0.01)).toBe(2);
});

test("heap: checks end with the process, and never begin where Node does not expose the garbage collector", async () => {
  const { state, clock, stop, ended } = processAtRest();
  stop.abort();
  await ended;
  await clock.advance(60_000);
  expect(state.collections).toBe(0);
  const heap = { totalBytes: () => 0, cpuMs: () => 0, collect: undefined };
  await keepHeapSmall(heap, clock, silentLog, new AbortController().signal);
});
