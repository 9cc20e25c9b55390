import type { Clock } from "./clock.ts";

/**
 * Calls `expire` when the time is over, unless what it is about has come by then. Where the process could not run for a while, an answer may
 * have come in time and be unread yet: timers are told before sockets are read (https://nodejs.org/learn/asynchronous-work/event-loop-timers-and-nexttick).
 * So whatever waits there is read first.
 * @param ms from now
 * @returns cancels
 */
export function deadline(clock: Clock, ms: number, expire: () => void): () => void {
  let reading: NodeJS.Immediate | undefined;
  const stopTimer = clock.after(ms, () => {
    reading = setImmediate(expire);
  });
  return () => {
    stopTimer();
    clearImmediate(reading);
  };
}
