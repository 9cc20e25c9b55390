import { setTimeout } from "node:timers/promises";
import { hasCode, OperatorError } from "#base/error.ts";
import type { Context, Run } from "./context.ts";
import { clean } from "./text.ts";
import { EXIT_CODES } from "./verdict.ts";

/** Pause between two reads of `--watch`. Shorter: more load than one screen is worth. Longer: people press Ctrl-C. */
const PAUSE_MS = 2_000;
/** Clears the terminal and moves to its first line. */
const CLEAR = "\u001b[2J\u001b[H";
/** Exit code after Ctrl-C, as shells have it: 128 and the number of the signal. */
export const INTERRUPTED = 130;

/**
 * Repeats a command until the signal. On a terminal each screen replaces the last one; elsewhere only changed screens
 * are written. A failed read is shown, and the next one follows.
 * @param pauseMs pause between two reads
 * @returns the last exit code
 * @throws OperatorError InvalidConfig, which no repetition mends
 */
export async function repeated(run: Run, context: Context, pauseMs = PAUSE_MS): Promise<number> {
  const { signal, isTerminal } = context;
  let [before, warned] = ["", ""];
  let exitCode = INTERRUPTED;
  while (!signal.aborted) {
    let text = "";
    try {
      exitCode = await run({ ...context, write: (more) => (text += more) });
      if (isTerminal) context.write(CLEAR + text);
      else if (text !== before) context.write(before === "" ? text : `\n${text}`);
      [before, warned] = [text, ""];
    } catch (thrown) {
      if (signal.aborted) break;
      if (!(thrown instanceof OperatorError) || hasCode(thrown, "Bug", "InvalidConfig")) throw thrown;
      exitCode = EXIT_CODES["cannot tell"];
      const sentence = `${clean(thrown.message, 2_000)}\n`;
      // The last screen stays above the sentence.
      if (isTerminal) context.write(`${CLEAR}${before}${sentence}`);
      else if (sentence !== warned) context.warn(sentence);
      warned = sentence;
    }
    await setTimeout(pauseMs, undefined, { signal }).catch(() => undefined); // stopped by the signal
  }
  return exitCode;
}
