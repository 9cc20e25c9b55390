import type { Clock } from "./clock.ts";

/**
 * Calls `expire` when the time is over, unless what it is about has come by then. Where the process could not run for a while, an answer may
 * have come in time and be unread yet: timers are told before sockets are read (https://nodejs.org/learn/asynchronous-work/event-loop-timers-and-nexttick).
 * So whatever waits there is read first; but not while the question itself has not left in full, since the rest of it would leave then, too.
 * @param ms from now
 * @param mayHaveCome whether an answer can have come; asked when the time is over
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
