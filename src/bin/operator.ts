import { readFlags, USAGE } from "./flags.ts";
import { runOperator } from "./run.ts";

// The operator's process; run.ts wires everything. Exit code 0: stopped on request; 1: start failed, lease lost, or
// unhandled exception (crash.ts).

try {
  const flags = readFlags(process.argv.slice(2), process.env);
  if (flags.help) {
    process.stdout.write(USAGE);
  } else {
    const stop = new AbortController();
    for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => stop.abort());
    process.exitCode = await runOperator(flags, stop.signal);
  }
} catch (thrown) {
  process.stderr.write(`${thrown instanceof Error ? thrown.message : thrown}\n`);
  process.exitCode = 1;
}
// Ends at once, with connections and timers still open, so that the kubelet does not wait.
process.exit();
