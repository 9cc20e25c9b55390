import { Random } from "#kit/world/random.ts";

/** A signal that never aborts. Deadlines by the real clock are disabled: time belongs to the simulated world. */
const never = new AbortController().signal;

/**
 * Runs `run` with a seed for everything that the code takes from its surroundings: jitter of `Math.random`, and
 * deadlines of the real clock. Stack traces are left out, since errors are frequent here.
 */
export async function seeded<T>(seed: number, run: () => Promise<T>): Promise<T> {
  const { random } = Math;
  const { timeout, any } = AbortSignal;
  const { stackTraceLimit } = Error;
  const numbers = new Random(seed ^ 0xa3b);
  Math.random = () => numbers.next();
  AbortSignal.timeout = () => never;
  AbortSignal.any = (signals) => {
    const real = [...signals].filter((signal) => signal !== never);
    return real.length > 1 ? any.call(AbortSignal, real) : (real[0] ?? never);
  };
  Error.stackTraceLimit = 0;
  try {
    return await run();
  } finally {
    Math.random = random;
    AbortSignal.timeout = timeout;
    AbortSignal.any = any;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Waits until every promise that can settle has settled: microtasks run before the next immediate. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
