import { OperatorError } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import { workedOn } from "#base/worked-on.ts";

// What happens on an unhandled exception?
//   The state of the process is unknown, so it exits. If it kept its leases, no process could act for another 15 s. So
//   it stops as on a signal, which releases the leases, and exits with 1. Further exceptions are only logged.

/** Abort reason of all signals after a crash. */
export const CRASH = new OperatorError("Cancelled", "an unhandled exception ends this process");

/**
 * Longest time in milliseconds that running passes get after a crash. A pass that waits for the failed code would never
 * end.
 */
export const CRASH_DRAIN_MS = 500;
/**
 * Longest time in milliseconds from a crash to the exit: half a second for passes, two seconds for events and for each
 * of two leases. Shorter, and a slow API server could not release a lease; longer, and the lease would have expired.
 */
const END_WITHIN_MS = 8_000;
/** Length in characters at which a logged stack is truncated. */
const MAX_LENGTH = 4_000;

/**
 * Stops the process on an unhandled exception or rejection.
 * @param exit ends the process at once
 * @returns a function that removes the handlers
 */
export function stopOnCrash(log: Log, crash: AbortController, exit: () => void = () => process.exit(1)): () => void {
  let late: NodeJS.Timeout | undefined;
  const stop = (thrown: unknown): void => {
    const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    const message =
      "an unhandled exception ends this process after its leases are released; if an object is named, the exception comes from processing it";
    log.error({ ...workedOn(), error: text.slice(0, MAX_LENGTH) }, message);
    late ??= setTimeout(exit, END_WITHIN_MS).unref();
    crash.abort(CRASH);
  };
  process.on("uncaughtException", stop).on("unhandledRejection", stop);
  return () => {
    clearTimeout(late);
    process.off("uncaughtException", stop).off("unhandledRejection", stop);
  };
}
