import type { Beside } from "./beside.ts";
import { type Count, NONE, sum } from "./count.ts";
import type { Step } from "./progress.ts";

/** Tests that are seen at once. They call `onBuilt` when nothing is built for them any more. */
export type Shown = (onBuilt: () => void) => Promise<Count>;

/** Tests that are told beside those. They hand over what they have to say when they are done. */
export type Quiet = (tell: (text: string) => void) => Promise<Count>;

export interface Lanes {
  readonly shown: Shown;
  /** Tests that mostly wait, too: they begin at once, one after another. */
  readonly waiting: readonly Quiet[];
  /**
   * What only computes, one after another, and side by side when nothing is shown any more: then there are processors for it. It begins when all is
   * built: builds would leave it nothing, and its tests have deadlines.
   */
  readonly computing: readonly Quiet[];
}

/**
 * Tells three lanes of tests side by side. Each is told whole. None of them throws: what fails is counted, and the next one is told all the same.
 * @param lowest runs what computes: when nobody else is left, it need not go last any more
 * @param say prints what was told beside what is shown, when that has ended
 */
export async function sideBySide(
  { shown, waiting, computing }: Lanes,
  lowest: Pick<Beside, "hurry">,
  say: (text: string) => void,
  step: Step,
): Promise<Count> {
  const told: string[] = [];
  const tell = (text: string) => void told.push(text);
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
  for (const text of told.splice(0)) say(text);
  if (!isOver) await step("the rest of what is told beside them", () => rest);
  const counts = await rest;
  for (const text of told.splice(0)) say(text);
  return counts.reduce(sum, first);
}

/** @param alone from then on nobody waits for the one before */
async function inTurn(lane: readonly Quiet[], tell: (text: string) => void, alone?: Promise<void>): Promise<Count> {
  const counts: Promise<Count>[] = [];
  for (const each of lane) {
    const count = each(tell);
    counts.push(count);
    await (alone === undefined ? count : Promise.race([count, alone]));
  }
  return (await Promise.all(counts)).reduce(sum, NONE);
}
