import { Random } from "#kit/world-random.ts";

/** Never aborts. Time belongs to the world: a deadline on the real clock would only be noise. */
const never = new AbortController().signal;

/**
 * Runs `run` with everything decided by the seed that the code under test takes from its surroundings: jitter from
 * `Math.random`, deadlines of the real clock. Stack traces are left out, since errors are part of ordinary life here.
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

/** Lets every promise that can settle do so: microtasks run before the next immediate. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
