import { OPERATOR } from "#api/names.ts";
import { systemClock } from "#base/clock.ts";
import { KubeClient } from "#kube/client.ts";
import { defaultConfig } from "#kube/config.ts";
import { readFlags, USAGE } from "./flags.ts";
import { runOperator } from "./run.ts";
import { readSelfTestFlags, selfTest } from "./self-test.ts";

// The operator's process; run.ts wires everything. Exit code 0: stopped on request; 1: start failed, lease lost, or
// unhandled exception (crash.ts).

const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => stop.abort());

/** Runs `operator self-test` with the account of its pod. */
async function runSelfTest(args: readonly string[]): Promise<void> {
  const flags = readSelfTestFlags(args);
  const kube = new KubeClient({ config: await defaultConfig(), userAgent: `${OPERATOR}-self-test` });
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  await selfTest({ kube, clock: systemClock, print, signal: stop.signal }, flags);
}

try {
  const [first, ...others] = process.argv.slice(2);
  const flags = first === "self-test" ? undefined : readFlags(process.argv.slice(2), process.env);
  if (flags === undefined) await runSelfTest(others);
  else if (flags.help) process.stdout.write(USAGE);
  else process.exitCode = await runOperator(flags, stop.signal);
} catch (thrown) {
  process.stderr.write(`${thrown instanceof Error ? thrown.message : thrown}\n`);
  process.exitCode = 1;
}
// Ends at once, with connections and timers still open, so that the kubelet does not wait.
process.exit();
