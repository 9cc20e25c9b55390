import { hasCode, type OperatorError } from "#base/error.ts";
import { type Key, keyText } from "#runtime/controller.ts";

// Which passes that throw does a person have to hear of?
//   Those of one object that throw again and again: nothing is done for it then, and its status says what was so before. While the API
//   server is away or sends everybody off, that is so for all objects, and there is nowhere to say it.
// And where the world moved during the pass?
//   That is so when somebody else writes, and passes. But there are webhooks that answer 409, and what is looked for may be gone for good: so many in
//   a row are a failure like any other.

/** So many in a row take about ten seconds. What passes by itself has passed by then. */
const IN_A_ROW = 5;
/** With the pauses between them they take about five seconds. */
const CONFLICTS_IN_A_ROW = 10;
/** Longest text that is told, in characters. */
const MAX_LENGTH = 300;

/** What says that the world moved during a pass, or a step. */
export const MOVED = ["KubeConflict", "KubeNotFound"] as const;

/** Passes in a row that threw, by key. Written by the pass of the same key only. */
export class Throws {
  readonly #inARow = new Map<string, number>();
  /** Of passes in a row, those during which the world moved, by key. */
  readonly #conflicts = new Map<string, number>();

  /** Notes one that found that the world had moved. @returns whether that is a failure by now */
  isFailure(key: Key): boolean {
    const count = (this.#conflicts.get(keyText(key)) ?? 0) + 1;
    this.#conflicts.set(keyText(key), count);
    return count >= CONFLICTS_IN_A_ROW;
  }

  /** Notes one. @returns what people are to hear; undefined as long as it is nothing */
  note(key: Key, error: OperatorError): string | undefined {
    if (hasCode(error, "KubeUnavailable", "KubeThrottled", "LeaseLost")) return undefined;
    const count = (this.#inARow.get(keyText(key)) ?? 0) + 1;
    this.#inARow.set(keyText(key), count);
    // Those were counted already.
    if (count < IN_A_ROW && !hasCode(error, ...MOVED)) return undefined;
    return `nothing is done or looked at, since the operator fails each time: ${textOf(error).slice(0, MAX_LENGTH)}`;
  }

  /** Forgets them: a pass has come to its end, or the object is gone. */
  forget(key: Key): void {
    this.#inARow.delete(keyText(key));
    this.#conflicts.delete(keyText(key));
  }
}

/** What everybody may read. A foreign error may quote what it stumbled over, so of it only the name is told. */
function textOf({ code, message, cause }: OperatorError): string {
  if (code !== "Bug" || cause === undefined) return `${code}: ${message}`;
  return `${code}: ${cause instanceof Error ? cause.name : typeof cause}; the log of the operator says more`;
}
