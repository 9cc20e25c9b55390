import { readFlags, USAGE } from "./flags.ts";
import { runOperator } from "./run.ts";

// The process of the operator: everything is wired in run.ts. Exit code 0: stopped as asked; 1: could not start, or lost the lease.

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
// Nobody uses the connections and timers that are still open any more, so the kubelet should not have to wait for them.
process.exit();
