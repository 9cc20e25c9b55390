import { parseArgs } from "node:util";
import { runAgent } from "#agent/run.ts";
import { NO_RETRY_EXIT_CODE, PROGRESS_PORT, REPORT_FILE, TASK_VARIABLE } from "#agent/task.ts";
import { systemClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";

// The agent's process, in a Job of the operator: reads one task from the environment, writes one report, and exits.
// Exit code 0: done; 1: failed, and a retry may succeed; 2: failed, and no retry would. The flags are for tests.

const { values } = parseArgs({
  options: {
    "report-file": { type: "string", default: REPORT_FILE },
    "progress-port": { type: "string", default: String(PROGRESS_PORT) },
  },
});
const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => stop.abort());
const report = await runAgent({
  task: process.env[TASK_VARIABLE],
  reportFile: values["report-file"],
  progressPort: Number(values["progress-port"]),
  signal: stop.signal,
  clock: systemClock,
  log: createLog("info"),
});
// Exits at once, even with open connections.
process.exit(report.ok ? 0 : report.retry ? 1 : NO_RETRY_EXIT_CODE);
