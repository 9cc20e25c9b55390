import type { Input } from "./arguments.ts";
import type { Output } from "./commands.ts";
import type { Connection } from "./connect.ts";
import { type Line, render } from "./lines.ts";
import { safeJson } from "./text.ts";
import { safeYaml } from "./yaml.ts";

/** What a command works with. */
export interface Context {
  readonly input: Input;
  readonly version: string;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly write: (text: string) => void;
  /** For progress and warnings. */
  readonly warn: (text: string) => void;
  readonly isTerminal: boolean;
  /** Columns of the terminal; undefined without one. */
  readonly columns: number | undefined;
  readonly colour: boolean;
  /** @throws OperatorError InvalidConfig */
  readonly connect: () => Connection;
}

/** A command; its result is the exit code. */
export type Run = (context: Context) => Promise<number>;

/** Columns of a line that is not written to a terminal. Longer texts are cut, so that no message fills a log. */
const MOST_COLUMNS = 400;

/** Form of the output; `wide` and the default are screens. */
export function outputOf({ input }: Context): Output | undefined {
  return input.texts.output as Output | undefined;
}

/** Writes lines, as wide as the terminal. @param most columns at most */
export function writeLines({ write, columns, colour }: Context, lines: readonly Line[], most?: number): void {
  write(render(lines, Math.min(most ?? MOST_COLUMNS, columns ?? MOST_COLUMNS), colour));
}

/** Writes the value as JSON or YAML, without characters that a terminal could obey. Each YAML of --watch is a document. */
export async function writeValue(context: Context, value: unknown): Promise<void> {
  const isYaml = outputOf(context) === "yaml";
  if (!isYaml) context.write(`${safeJson(value)}\n`);
  else context.write(`${context.input.given.has("watch") ? "---\n" : ""}${await safeYaml(value)}`);
}

export function isValue(context: Context): boolean {
  return outputOf(context) === "json" || outputOf(context) === "yaml";
}
