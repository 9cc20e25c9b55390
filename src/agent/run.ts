import { writeFile } from "node:fs/promises";
import { StoreError } from "#objectstore/error.ts";
import { asAgentError } from "./copy.ts";
import { type PerformOptions, perform } from "./perform.ts";
import { ProgressBoard, serveProgress } from "./progress.ts";
import { readTask } from "./read-task.ts";
import { type AgentReport, type FailureReport, failure, reportText } from "./report.ts";
import type { AgentTask } from "./task.ts";

/** Settings of the agent's process. */
export interface AgentOptions extends PerformOptions {
  /** Value of TASK_VARIABLE. */
  readonly task: string | undefined;
  readonly reportFile: string;
  readonly progressPort: number;
}

const LOG_EVERY_MS = 10_000;

const WORDS: Readonly<Record<AgentTask["kind"], string>> = {
  archive: "store every change of a cluster as it happens",
  replay: "bring a restored etcd to a later revision",
  backup: "store a snapshot",
  check: "check that a backup is still stored",
  delete: "delete what a backup stored",
  fetch: "fetch a snapshot",
  finish: "move a restored data directory into place",
  list: "list the backups of a store",
  verify: "compare a restored etcd with the manifest of its backup",
};

/** Executes the task and writes the report. Never throws. */
export async function runAgent(options: AgentOptions): Promise<AgentReport> {
  const report = await attempt(options);
  if (report.ok) options.log.info({ outcome: "done" }, "the task has succeeded");
  else options.log.error({ outcome: "failed", code: report.reason, error: report.message }, "the task has failed");
  await writeFile(options.reportFile, reportText(report)).catch((thrown: Error) => {
    options.log.error({ error: thrown.message }, "the report cannot be written");
  });
  return report;
}

/**
 * Whether a retry cannot help. A backup may read another member, or the same again; a stored object does not change.
 */
function isForEver(task: AgentTask | undefined, { reason }: FailureReport): boolean {
  return reason === "SnapshotCorrupt" && task?.kind !== "backup" && task?.kind !== "archive";
}

async function attempt(options: AgentOptions): Promise<AgentReport> {
  const { clock, log } = options;
  const board = new ProgressBoard(clock.wallMs());
  let cancel = () => {};
  const logProgress = () => {
    const { phase, bytesRead, bytesStored } = board.now;
    log.info({ phase, bytes: bytesRead, storedBytes: bytesStored }, "progress");
    cancel = clock.after(LOG_EVERY_MS, logProgress);
  };
  let task: AgentTask | undefined;
  try {
    task = readTask(options.task);
    log.info("key" in task ? { object: task.key } : {}, `the task is to ${WORDS[task.kind]}`);
    const server = await serveProgress(board, options.progressPort);
    cancel = clock.after(LOG_EVERY_MS, logProgress);
    try {
      return await perform(task, board, options);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  } catch (thrown) {
    const { reason, message, cause } = asAgentError(thrown);
    // Failures after a stop are caused by the stop.
    const report = failure(options.signal.aborted ? "Stopped" : reason, message);
    if (isForEver(task, report)) return { ...report, retry: false };
    // An identity or a Secret may be late by more than the store's own retries: the next pod tries again.
    return cause instanceof StoreError && cause.mayPass ? { ...report, retry: true } : report;
  } finally {
    cancel();
  }
}
