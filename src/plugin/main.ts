import { hasCode, OperatorError } from "#base/error.ts";
import { type Input, inputOf, UsageError } from "./arguments.ts";
import { type Connection, connect } from "./connect.ts";
import type { Context, Run } from "./context.ts";
import { commandHelp, helpText } from "./help.ts";
import { backup, binding, certificate, pause, restart, restore, resume, schedule, undelete } from "./run/act.ts";
import { check } from "./run/check.ts";
import { completion, completions } from "./run/complete.ts";
import { logs } from "./run/logs.ts";
import { list, status, version, why } from "./run/look.ts";
import { plan } from "./run/plan.ts";
import { report } from "./run/report.ts";
import { leader, shell } from "./run/shell.ts";
import { clean } from "./text.ts";
import { EXIT_CODES } from "./verdict.ts";
import { INTERRUPTED, repeated } from "./watch.ts";

// The process `kubectl-etcd`, which kubectl starts for `kubectl etcd`.

/** The bundler sets it to the release. The sources have no release. */
declare const PLUGIN_VERSION: string | undefined;
const VERSION = typeof PLUGIN_VERSION === "string" ? PLUGIN_VERSION : "0.0.0-source";

const RUNS: Readonly<Record<string, Run>> = {
  ...{ list, status, why, check, version, plan, restart, backup, restore, schedule, undelete, pause, resume },
  ...{ binding, certificate, leader, logs, report, shell, completion },
};

/** Aborts on Ctrl-C and on the request to end. */
const stop = new AbortController();

process.exitCode = await main(process.argv.slice(2)).catch((thrown: unknown) => {
  const isStopped = hasCode(thrown, "Cancelled") || (thrown instanceof Error && thrown.name === "AbortError");
  if (stop.signal.aborted && isStopped) return INTERRUPTED;
  const isExpected = thrown instanceof UsageError || (thrown instanceof OperatorError && thrown.code !== "Bug");
  process.stderr.write(
    `${isExpected ? clean((thrown as Error).message, 2_000) : String((thrown as Error)?.stack ?? thrown)}\n`,
  );
  return EXIT_CODES["cannot tell"];
});
// The connections of the client are still open, and what is written must arrive first.
process.stdout.write("", () => process.exit());

async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === "__complete") {
    const { env } = process;
    const found = await completions(argv.slice(1), (flags) => connect(flags, env, VERSION), env);
    process.stdout.write(found.map((each) => `${each}\n`).join(""));
    return 0;
  }
  const input = inputOf(argv);
  if (input === "help") {
    process.stdout.write(helpText());
    return 0;
  }
  if (input.given.has("help")) {
    process.stdout.write(commandHelp(input.command));
    return 0;
  }
  const run = RUNS[input.command.name];
  if (run === undefined) throw new UsageError(`The command ${input.command.name} is not part of this build.`);
  const context = contextOf(input);
  return input.given.has("watch") ? await repeated(run, context) : await run(context);
}

function contextOf(input: Input): Context {
  const { stdout, env } = process;
  let connection: Connection | undefined;
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => stop.abort());
  // A reader such as `head` may end first.
  stdout.on("error", () => process.exit());
  return {
    input,
    version: VERSION,
    signal: stop.signal,
    nowMs: () => Date.now(),
    write: (text) => void stdout.write(text),
    warn: (text) => void process.stderr.write(text),
    isTerminal: stdout.isTTY === true,
    columns: stdout.isTTY === true ? stdout.columns : undefined,
    colour: stdout.isTTY === true && !input.given.has("no-color") && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb",
    // Once: a login program of the kubeconfig may ask people something.
    connect: () => (connection ??= connect(input.texts, env, VERSION)),
  };
}
