import type { Clock } from "#base/clock.ts";

/** The `sleep` of a clock, implemented with its `after`. */
export function sleepOn(clock: Pick<Clock, "after">, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const cancel = clock.after(ms, resolve);
    signal?.addEventListener("abort", () => {
      cancel();
      reject(signal.reason);
    });
    return undefined;
  });
}
