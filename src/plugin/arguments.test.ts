import { expect, test } from "vitest";
import { inputOf } from "./arguments.ts";
import { COMMANDS, COMMON_FLAGS } from "./commands.ts";
import { commandHelp, helpText } from "./help.ts";

test("a command line is read with its names, flags and rest", () => {
  const input = inputOf(["status", "my-etcd", "-n", "shop", "-o", "wide", "--watch"]);
  expect(input).toMatchObject({
    command: { name: "status" },
    names: ["my-etcd"],
    texts: { namespace: "shop", output: "wide" },
    given: new Set(["watch"]),
    rest: [],
  });
});

test.each([[[]], [["--help"]], [["help"]]])("%j shows the help", (argv) => {
  expect(inputOf(argv)).toBe("help");
});

test("the help of a command needs none of its arguments", () => {
  expect(inputOf(["status", "--help"])).toMatchObject({ given: new Set(["help"]) });
});

test.each([
  ["an unknown command", ["stats"], 'There is no command "stats"; see kubectl etcd --help.'],
  ["an unknown flag", ["list", "--all"], "Unknown option '--all'; see kubectl etcd list --help."],
  [
    "a flag of another command",
    ["status", "my-etcd", "--orphans"],
    "Unknown option '--orphans'; see kubectl etcd status --help.",
  ],
  ["a missing name", ["status"], "The command is: kubectl etcd status NAME [flags]."],
  ["too many names", ["status", "a", "b"], "The command is: kubectl etcd status NAME [flags]."],
  [
    "a rest that the command does not take",
    ["status", "a", "--", "b"],
    "The command is: kubectl etcd status NAME [flags].",
  ],
  ["a path as a name", ["status", "../secrets"], 'NAME is "../secrets"; it must be the name of a Kubernetes object.'],
  [
    "a control character in a name",
    ["status", "a\u001b[2J"],
    'NAME is "a [2J"; it must be the name of a Kubernetes object.',
  ],
  ["an unknown output", ["list", "-o", "xml"], '--output is "xml"; it must be one of json, yaml, wide.'],
])("%s is refused", (_, argv, message) => {
  expect(() => inputOf(argv)).toThrow(message);
});

test("the help names every command, and the help of a command its rights", () => {
  for (const command of COMMANDS) {
    expect(helpText()).toContain(`  ${command.name}`);
    for (const right of command.rights) expect(commandHelp(command)).toContain(right);
  }
});

test("no command has two flags with one name or letter", () => {
  for (const { name, flags } of COMMANDS) {
    const words = [...COMMON_FLAGS, ...flags].flatMap((flag) => [
      flag.name,
      ...(flag.short === undefined ? [] : [flag.short]),
    ]);
    expect([name, words.length]).toEqual([name, new Set(words).size]);
  }
});

test("flags may stand before the command, and -f has the meaning of its command", () => {
  expect(inputOf(["-n", "shop", "logs", "my-etcd", "-f"])).toMatchObject({
    texts: { namespace: "shop" },
    given: new Set(["follow"]),
  });
  expect(inputOf(["plan", "my-etcd", "-f", "new.yaml"])).toMatchObject({ texts: { filename: "new.yaml" } });
  expect(inputOf(["shell", "my-etcd", "--", "put", "-x"])).toMatchObject({ names: ["my-etcd"], rest: ["put", "-x"] });
});
