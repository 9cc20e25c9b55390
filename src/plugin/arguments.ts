import { parseArgs } from "node:util";
import { COMMON_FLAGS, type Command, commandOf, type Flag, usageOf } from "./commands.ts";
import { SHELLS } from "./completion.ts";
import { clean } from "./text.ts";

/** What was typed, checked against the table of commands. */
export interface Input {
  readonly command: Command;
  readonly names: readonly string[];
  /** Values of flags that take a text. */
  readonly texts: Readonly<Record<string, string>>;
  /** Flags that take nothing and were given. */
  readonly given: ReadonlySet<string>;
  /** Everything after `--`. */
  readonly rest: readonly string[];
}

/** Mistake in the command line, as a sentence; exit code 3, as no cluster was read. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** @throws UsageError that names what is wrong and what it may be */
export function inputOf(argv: readonly string[]): Input | "help" {
  const split = argv.indexOf("--");
  const [own, rest] = split === -1 ? [argv, []] : [argv.slice(0, split), argv.slice(split + 1)];
  const words = parseArgs({ args: [...own], options: optionsOf(COMMON_FLAGS), strict: false }).positionals;
  const name = words.find((word) => commandOf(word) !== undefined) ?? words[0];
  if (name === undefined || name === "help") return "help";
  const command = commandOf(name);
  if (command === undefined) throw new UsageError(`There is no command ${quoted(name)}; see kubectl etcd --help.`);
  const known = [...COMMON_FLAGS, ...command.flags];
  const { values, positionals } = parsed(own, known, command);
  const names = positionals.toSpliced(positionals.indexOf(name), 1);
  if (values.help !== true) checkNames(command, names, split !== -1);
  for (const flag of known) checkValue(flag, values[flag.name]);
  const entries = Object.entries(values);
  return {
    command,
    names,
    texts: Object.fromEntries(entries.filter((each): each is [string, string] => typeof each[1] === "string")),
    given: new Set(entries.filter(([, value]) => value === true).map(([flag]) => flag)),
    rest,
  };
}

function parsed(args: readonly string[], flags: readonly Flag[], command: Command) {
  try {
    return parseArgs({ args: [...args], options: optionsOf(flags), allowPositionals: true });
  } catch (thrown) {
    const [first = ""] = (thrown as Error).message.split(". ");
    throw new UsageError(`${clean(first)}; see kubectl etcd ${command.name} --help.`);
  }
}

function optionsOf(flags: readonly Flag[]) {
  return Object.fromEntries(
    flags.map(({ name, short, takes }) => {
      const type = takes === "nothing" ? ("boolean" as const) : ("string" as const);
      return [name, short === undefined ? { type } : { type, short }];
    }),
  );
}

/** Longest name of a Kubernetes object. */
const MOST_NAME = 253;

function checkNames(command: Command, names: readonly string[], hasRest: boolean): void {
  const needed = command.arguments.filter(({ isOptional }) => isOptional !== true);
  if (names.length < needed.length || names.length > command.arguments.length || (hasRest && command.hasRest !== true))
    throw new UsageError(`The command is: kubectl etcd ${usageOf(command)}.`);
  for (const [n, name] of names.entries()) {
    const subject = command.arguments[n]?.subject;
    if (subject === "text") continue;
    if (subject === "shell" && !SHELLS.some((shell) => shell === name))
      throw new UsageError(`SHELL is ${quoted(name)}; it must be one of ${SHELLS.join(", ")}.`);
    if (!/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(name) || name.length > MOST_NAME)
      throw new UsageError(
        `${command.arguments[n]?.name} is ${quoted(name)}; it must be the name of a Kubernetes object.`,
      );
  }
}

function checkValue({ name, oneOf }: Flag, value: unknown): void {
  if (oneOf === undefined || value === undefined || oneOf.includes(String(value))) return;
  throw new UsageError(`--${name} is ${quoted(String(value))}; it must be one of ${oneOf.join(", ")}.`);
}

function quoted(text: string): string {
  return JSON.stringify(clean(text, 60));
}
