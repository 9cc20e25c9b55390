import { OperatorError } from "./error.ts";

/**
 * States what must be true here whatever the world does.
 * @throws OperatorError Bug when it is not
 */
export function invariant(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new OperatorError("Bug", `invariant broken: ${sentence}`);
}
