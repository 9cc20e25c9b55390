import { writeFile } from "node:fs/promises";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { StoreLocation } from "#objectstore/location.ts";
import { openStore } from "#objectstore/open.ts";
import type { ObjectStore } from "#objectstore/store.ts";
import { keyFrom } from "./archive/key-file.ts";
import { backUp } from "./backup.ts";
import { asAgentError } from "./copy.ts";
import { deleteBackup } from "./delete.ts";
import { AgentError } from "./error.ts";
import { ProgressBoard, serveProgress } from "./progress.ts";
import { readTask } from "./read-task.ts";
import { type AgentReport, failure, reportText } from "./report.ts";
import { fetchSnapshot } from "./restore/fetch.ts";
import { finishRestore } from "./restore/finish.ts";
import { openSources } from "./source.ts";
import type { AgentTask, BackupTask, FetchTask } from "./task.ts";

/** What the process of the agent is told. */
export interface AgentOptions {
  /** What TASK_VARIABLE says. */
  readonly task: string | undefined;
  readonly reportFile: string;
  readonly progressPort: number;
  /** Ends the task with `Stopped`; nothing is left behind. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** For how long nothing may move, in milliseconds. Undefined: PATIENCE_MS. */
  readonly patienceMs?: number;
  /** See SourceAccess. */
  readonly pingIntervalMs?: number;
}

/** A store may take minutes to put the parts of a large object together. */
const PATIENCE_MS = 5 * 60_000;

const LOG_EVERY_MS = 10_000;

const WORDS: Readonly<Record<AgentTask["kind"], string>> = {
  backup: "store a snapshot",
  delete: "delete what a backup stored",
  fetch: "fetch a snapshot",
  finish: "move a restored data directory to its place",
  verify: "compare a restored etcd with the manifest of its backup",
};

/** Does the task, and leaves the report where it is looked for. Never fails. */
export async function runAgent(options: AgentOptions): Promise<AgentReport> {
  const report = await attempt(options);
  if (report.ok) options.log.info({ outcome: "done" }, "the task is done");
  else options.log.error({ outcome: "failed", code: report.reason, error: report.message }, "the task has failed");
  await writeFile(options.reportFile, reportText(report)).catch((thrown: Error) => {
    options.log.error({ error: thrown.message }, "the report cannot be written");
  });
  return report;
}

async function attempt(options: AgentOptions): Promise<AgentReport> {
  const { clock, log } = options;
  const board = new ProgressBoard(clock.wallMs());
  let cancel = () => {};
  const tell = () => {
    const { phase, bytesRead, bytesStored } = board.now;
    log.info({ phase, bytes: bytesRead, storedBytes: bytesStored }, "progress");
    cancel = clock.after(LOG_EVERY_MS, tell);
  };
  try {
    const task = readTask(options.task);
    log.info("key" in task ? { object: task.key } : {}, `the task is to ${WORDS[task.kind]}`);
    const server = await serveProgress(board, options.progressPort);
    cancel = clock.after(LOG_EVERY_MS, tell);
    try {
      return await perform(task, board, options);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  } catch (thrown) {
    const { reason, message } = asAgentError(thrown);
    // Whatever breaks when everything is told to stop has broken because of it.
    return failure(options.signal.aborted ? "Stopped" : reason, message);
  } finally {
    cancel();
  }
}

async function perform(task: AgentTask, board: ProgressBoard, options: AgentOptions): Promise<AgentReport> {
  const { signal } = options;
  switch (task.kind) {
    case "backup":
      return await withStore(task.destination, task, (store) => performBackup(task, store, board, options));
    case "delete":
      board.phase = "Deleting";
      return await withStore(task.destination, task, async (store) => {
        return { ok: true, kind: "delete", deleted: await deleteBackup(task, store, signal) };
      });
    case "fetch":
      return await withStore(task.from, task, (store) => performFetch(task, store, board, options));
    case "finish":
      return { ok: true, kind: "finish", ...(await finishRestore(task)) };
    case "verify":
      throw new AgentError("BadTask", `this release of the agent cannot ${WORDS.verify}`);
  }
}

async function withStore(
  location: StoreLocation,
  { credentialsDir }: { readonly credentialsDir?: string },
  use: (store: ObjectStore) => Promise<AgentReport>,
): Promise<AgentReport> {
  const store = await openStore(location, credentialsDir === undefined ? {} : { credentialsDir });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function performFetch(
  task: FetchTask,
  store: ObjectStore,
  board: ProgressBoard,
  { signal, log }: AgentOptions,
): Promise<AgentReport> {
  const key = task.encryption && (await keyFrom(task.encryption));
  return { ok: true, kind: "fetch", snapshot: await fetchSnapshot(task, { store, key, board, signal, log }) };
}

async function performBackup(
  task: BackupTask,
  store: ObjectStore,
  board: ProgressBoard,
  options: AgentOptions,
): Promise<AgentReport> {
  const { signal, clock, log, patienceMs = PATIENCE_MS } = options;
  const key = task.encryption && (await keyFrom(task.encryption));
  const sources = await openSources(task.source, options.pingIntervalMs);
  try {
    const object = await backUp(task, { store, sources, key, board, signal, clock, log, patienceMs });
    return { ok: true, kind: "backup", object };
  } finally {
    sources.close();
  }
}
