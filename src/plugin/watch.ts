import { setTimeout } from "node:timers/promises";
import type { Context, Run } from "./context.ts";

/** Pause between two reads of `--watch`. Shorter: more load than one screen is worth. Longer: people press Ctrl-C. */
const PAUSE_MS = 2_000;
/** Clears the terminal and moves to its first line. */
const CLEAR = "\u001b[2J\u001b[H";

/**
 * Repeats a command until the signal. On a terminal each screen replaces the last one; elsewhere only changed screens
 * are written. @returns the last exit code
 */
export async function repeated(run: Run, context: Context): Promise<number> {
  let [before, exitCode] = ["", 0];
  while (!context.signal.aborted) {
    let text = "";
    exitCode = await run({ ...context, write: (more) => (text += more) });
    if (context.isTerminal) context.write(CLEAR + text);
    else if (text !== before) context.write(before === "" ? text : `\n${text}`);
    before = text;
    await setTimeout(PAUSE_MS, undefined, { signal: context.signal }).catch(() => undefined); // stopped by the signal
  }
  return exitCode;
}
