import type { Beside } from "./beside.ts";
import { type Count, NONE, sum } from "./count.ts";
import type { Step } from "./progress.ts";

/** Tests that mostly wait. They call `onBuilt` when nothing is built for them any more; what they say is seen at once. */
export type Waiting = (onBuilt: () => void) => Promise<Count>;

/** What only computes. It hands over what it has to say when it is done. */
export type Computing = (tell: (text: string) => void) => Promise<Count>;

/**
 * Tells tests that wait, one after another, and beside them what only computes, one after another, too. Each is told whole. None of them
 * throws: what fails is counted, and the next one is told all the same.
 * @param say prints what was told beside the others, when one of those has ended
 */
export async function sideBySide(
  waiting: readonly Waiting[],
  computing: readonly Computing[],
  beside: Pick<Beside, "hurry" | "calm">,
  say: (text: string) => void,
  step: Step,
): Promise<Count> {
  const told: string[] = [];
  const sayTold = () => {
    for (const text of told.splice(0)) say(text);
  };
  let isOver = false;
  let computed: Promise<Count> | undefined;
  const begin = () => {
    computed ??= inTurn(computing, (text) => told.push(text)).finally(() => {
      isOver = true;
    });
    return computed;
  };
  let total = NONE;
  for (const level of waiting) {
    // Programs that the level needs may be what is built beside it.
    beside.hurry();
    const count = await level(() => {
      beside.calm();
      begin();
    });
    total = sum(total, count);
    sayTold();
  }
  beside.hurry();
  const rest = begin();
  if (!isOver) await step("the rest of what is computed beside them", () => rest);
  total = sum(total, await rest);
  sayTold();
  return total;
}

async function inTurn(computing: readonly Computing[], tell: (text: string) => void): Promise<Count> {
  let total = NONE;
  for (const each of computing) total = sum(total, await each(tell));
  return total;
}
