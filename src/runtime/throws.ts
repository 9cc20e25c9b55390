import { hasCode, type OperatorError } from "#base/error.ts";
import { type Key, keyText } from "#runtime/controller.ts";

// Which failing passes must users learn of?
//   Repeated failures of one object: nothing is done for it, and its status is out of date. An API server that is down
//   or throttles fails for all objects, and no report could be stored.
// What about conflicts and missing objects?
//   They pass as a rule. But webhooks may answer 409 to every write, and an object may be gone for good: many in a row
//   are a failure.

/** So many failures in a row take about ten seconds. A passing fault is over by then. */
const IN_A_ROW = 5;
/** Conflicts in a row until the report. They take about five seconds, with the pauses between them. */
const CONFLICTS_IN_A_ROW = 10;
/** Longest error text in the report, in characters. */
const MAX_LENGTH = 300;

/** Error codes for an object that has changed since it was read. */
export const MOVED = ["KubeConflict", "KubeNotFound"] as const;

/** Failed passes in a row, by key. Written by the pass of the same key only. */
export class Throws {
  readonly #inARow = new Map<string, number>();
  /** Passes in a row that ended with a code of MOVED, by key. */
  readonly #conflicts = new Map<string, number>();

  /** Records a pass that ended with a code of MOVED. @returns whether that counts as a failure */
  isFailure(key: Key): boolean {
    const count = (this.#conflicts.get(keyText(key)) ?? 0) + 1;
    this.#conflicts.set(keyText(key), count);
    return count >= CONFLICTS_IN_A_ROW;
  }

  /** Records a failed pass. @returns the report for users; undefined: none yet */
  note(key: Key, error: OperatorError): string | undefined {
    if (hasCode(error, "KubeUnavailable", "KubeThrottled", "LeaseLost")) return undefined;
    // Permanent, and its message is written for users.
    if (hasCode(error, "ObjectTooLarge")) return error.message;
    const count = (this.#inARow.get(keyText(key)) ?? 0) + 1;
    this.#inARow.set(keyText(key), count);
    // Failures with a code of MOVED were counted by isFailure().
    if (count < IN_A_ROW && !hasCode(error, ...MOVED)) return undefined;
    return `The operator does not manage this object, since each try fails: ${textOf(error).slice(0, MAX_LENGTH)}`;
  }

  /** Resets the count: a pass has succeeded, or the object is gone. */
  forget(key: Key): void {
    this.#inARow.delete(keyText(key));
    this.#conflicts.delete(keyText(key));
  }
}

/**
 * Text that is safe to publish. A foreign error may quote data, such as a Secret's, so only its class name is reported.
 */
function textOf({ code, message, cause }: OperatorError): string {
  if (code !== "Bug" || cause === undefined) return `${code}: ${message}`;
  return `${code}: ${cause instanceof Error ? cause.name : typeof cause}; the operator's log has the details`;
}
