import type { Clock } from "./clock.ts";

/**
 * Calls `expire` when the time is over, unless it was cancelled. Reads waiting data first: after the process was
 * frozen, timers run before sockets are read
 * (https://nodejs.org/learn/asynchronous-work/event-loop-timers-and-nexttick). That is skipped while the request itself
 * is not fully sent, since its rest would be sent then, too.
 * @param ms from now
 * @param mayHaveCome whether an answer can have arrived; called when the time is over
 * @returns cancels
 */
export function deadline(clock: Clock, ms: number, expire: () => void, mayHaveCome = () => true): () => void {
  let reading: NodeJS.Immediate | undefined;
  const stopTimer = clock.after(ms, () => {
    if (mayHaveCome()) reading = setImmediate(expire);
    else expire();
  });
  return () => {
    stopTimer();
    clearImmediate(reading);
  };
}
