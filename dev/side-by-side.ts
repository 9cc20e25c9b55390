import type { Beside } from "./beside.ts";
import { type Count, NONE, sum } from "./count.ts";
import type { Step } from "./progress.ts";

/** Tests with immediate output. They call `onBuilt` when all of their components are built. */
export type Shown = (onBuilt: () => void) => Promise<Count>;

/** Tests that run in parallel with those, and return their output at the end. */
export type Quiet = (tell: (text: string) => void) => Promise<Count>;

export interface Lanes {
  readonly shown: Shown;
  /** Tests that mostly wait. They begin at once, and run one after another. */
  readonly waiting: readonly Quiet[];
  /**
   * Tests that only compute. They begin when all is built, as builds would starve them and they have deadlines. They
   * run one after another, and in parallel once the shown tests have ended, when processors are free.
   */
  readonly computing: readonly Quiet[];
}

/**
 * Runs three lanes of tests in parallel, each to its end. None of them throws: failures are counted, and the next tests
 * run.
 * @param lowest runs the computing tests, and gets ordinary priority when the shown tests have ended
 * @param say prints the output of the other lanes, when the shown tests have ended
 */
export async function sideBySide(
  { shown, waiting, computing }: Lanes,
  lowest: Pick<Beside, "hurry">,
  say: (text: string) => void,
  step: Step,
): Promise<Count> {
  const outputs: string[] = [];
  const tell = (text: string) => void outputs.push(text);
  const alone = Promise.withResolvers<void>();
  let computed: Promise<Count> | undefined;
  const compute = () => {
    computed ??= inTurn(computing, tell, alone.promise);
    return computed;
  };
  const waited = inTurn(waiting, tell);
  let isOver = false;
  const first = await shown(compute);
  lowest.hurry();
  alone.resolve();
  const rest = Promise.all([waited, compute()]).finally(() => {
    isOver = true;
  });
  for (const text of outputs.splice(0)) say(text);
  if (!isOver) await step("the remaining parallel tests", () => rest);
  const counts = await rest;
  for (const text of outputs.splice(0)) say(text);
  return counts.reduce(sum, first);
}

/** Runs a lane's tests one after another. @param alone resolves when they may run in parallel */
async function inTurn(lane: readonly Quiet[], tell: (text: string) => void, alone?: Promise<void>): Promise<Count> {
  const counts: Promise<Count>[] = [];
  for (const each of lane) {
    const count = each(tell);
    counts.push(count);
    await (alone === undefined ? count : Promise.race([count, alone]));
  }
  return (await Promise.all(counts)).reduce(sum, NONE);
}
