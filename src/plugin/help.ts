import { COMMANDS, COMMON_FLAGS, type Command, type Flag, usageOf } from "./commands.ts";
import { type Line, render, table } from "./lines.ts";

const EXIT_TEXT = "Exit code: 0 well or asleep, 1 degraded, 2 not serving, 3 cannot tell.";

/** The help of the plugin. */
export function helpText(): string {
  const rows = COMMANDS.map((command): Line => [`  ${usageOf(command)}`, command.what]);
  return [
    "Looks at etcd clusters of etcd-cluster-operator and acts on them.\n",
    `kubectl etcd COMMAND\n${text(rows)}`,
    `Flags of every command:\n${text(COMMON_FLAGS.map(flagRow))}`,
    EXIT_TEXT,
    "",
  ].join("\n");
}

export function commandHelp(command: Command): string {
  const rights = command.rights.map((each): Line => [`  ${each}`]);
  return [
    `kubectl etcd ${usageOf(command)}`,
    `${command.what}\n`,
    `Flags:\n${text([...command.flags, ...COMMON_FLAGS].map(flagRow))}`,
    `Rights that it needs:\n${text(rights)}`,
  ].join("\n");
}

function flagRow({ name, short, value, what }: Flag): Line {
  return [`  ${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : `=${value}`}`, what];
}

function text(rows: readonly Line[]): string {
  return render(table(rows), 200, false);
}
