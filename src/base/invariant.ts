import { OperatorError } from "./error.ts";

/**
 * Asserts what must be true here in any state of the cluster.
 * @throws OperatorError Bug when it is not
 */
export function invariant(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new OperatorError("Bug", `invariant broken: ${sentence}`);
}
