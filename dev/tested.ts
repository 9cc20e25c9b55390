import { type Count, oneFailed, type Took } from "./count.ts";
import { Failure } from "./failure.ts";
import type { Level } from "./levels.ts";

/** What each level took, its preparations included. */
export const levels: Took[] = [];

/** Runs one level; what goes wrong around its tests counts as one failure, and the next level still runs. */
export async function tested(level: Level, work: (root: string) => Promise<Count>): Promise<Count> {
  const sinceMs = performance.now();
  let count = oneFailed(`what is around the tests of level ${level}: see there`);
  await holds(async () => {
    count = await work(process.cwd());
  });
  levels.push({ name: level, ms: performance.now() - sinceMs });
  return count;
}

/** Whether it was done. What was thrown is said. */
export async function holds(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (thrown) {
    // A Failure says all that helps; anything else is a defect of ours, and its stack is wanted.
    console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
    return false;
  }
}
