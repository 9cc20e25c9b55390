import { parseArgs } from "node:util";
import { runAgent } from "#agent/run.ts";
import { NO_RETRY_EXIT_CODE, PROGRESS_PORT, REPORT_FILE, TASK_VARIABLE } from "#agent/task.ts";
import { systemClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";

// The process of the agent, in a Job that the operator makes: one task from the environment, one report, and the end.
// Exit code 0: done; 1: not, and another attempt may succeed; 2: not, and none would. Where the report lies and where progress is served are flags for tests; a pod has both at hand.

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
// Nobody uses the connections that are still open any more.
process.exit(report.ok ? 0 : report.retry ? 1 : NO_RETRY_EXIT_CODE);
