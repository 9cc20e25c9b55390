import { type Count, oneFailed, type Took } from "./count.ts";
import { Failure } from "./failure.ts";
import type { Level } from "./levels.ts";

/** Durations of the levels, with their preparations. */
export const levels: Took[] = [];

/** Runs one level. An error outside of its tests counts as one failure, and the next level still runs. */
export async function tested(level: Level, work: (root: string) => Promise<Count>): Promise<Count> {
  const sinceMs = performance.now();
  let count = oneFailed(`level ${level}: setup or teardown failed, see above`);
  await holds(async () => {
    count = await work(process.cwd());
  });
  levels.push({ name: level, ms: performance.now() - sinceMs });
  return count;
}

/** Whether the work succeeded. Errors are printed. */
export async function holds(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (thrown) {
    // The message of a Failure is enough. Anything else is a defect of ours, and is printed with its stack.
    console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
    return false;
  }
}
