import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { StoreLocation } from "#objectstore/location.ts";
import { openStore } from "#objectstore/open.ts";
import { PATIENCE, type Patience } from "#objectstore/patience.ts";
import type { ObjectStore } from "#objectstore/store.ts";
import { keyFrom } from "./archive/key-file.ts";
import { backUp } from "./backup.ts";
import { archiveChanges } from "./changes/archive.ts";
import { replay } from "./changes/replay.ts";
import { checkStored } from "./check.ts";
import { deleteBackup } from "./delete.ts";
import { listBackups } from "./list.ts";
import type { ProgressBoard } from "./progress.ts";
import type { AgentReport } from "./report.ts";
import { readExpectation } from "./restore/expectation.ts";
import { fetchSnapshot } from "./restore/fetch.ts";
import { finishRestore } from "./restore/finish.ts";
import { verifyRestored } from "./restore/verify.ts";
import { LastingSources, openSource, openSources } from "./source.ts";
import type { AgentTask, ArchiveTask, BackupTask, FetchTask, MountedCredentials, VerifyTask } from "./task.ts";

export interface PerformOptions {
  /** Ends the task with `Stopped` and cleans up. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** Time without progress after which the task fails, in milliseconds. Undefined: PATIENCE_MS. */
  readonly patienceMs?: number;
  /** Prints the result of a ListTask. Undefined: to the standard output. */
  readonly print?: (text: string) => void;
  /** See SourceAccess. */
  readonly pingIntervalMs?: number;
}

/**
 * Time without progress after which a task fails, in milliseconds. If shorter than the retries and the cleanup of an
 * object store, the task would fail before the store's own error is reported.
 */
export const PATIENCE_MS = 5 * 60_000;

/** Executes the task. @throws AgentError, StoreError, OperatorError */
export async function perform(task: AgentTask, board: ProgressBoard, options: PerformOptions): Promise<AgentReport> {
  const { signal } = options;
  switch (task.kind) {
    case "backup":
      return await withStore(task.destination, task, (store) => performBackup(task, store, board, options));
    case "delete":
      board.phase = "Deleting";
      return await withStore(task.destination, task, async (store) => {
        return { ok: true, kind: "delete", deleted: await deleteBackup(task, store, signal) };
      });
    case "check":
      return await withStore(task.from, task, async (store) => {
        await checkStored(task, store, signal);
        return { ok: true, kind: "check" };
      });
    case "fetch":
      return await withStore(task.from, task, (store) => performFetch(task, store, board, options));
    case "finish":
      return { ok: true, kind: "finish", ...(await finishRestore(task)) };
    case "archive":
      return await withStore(task.destination, task, (store) => performArchive(task, store, board, options), IMPATIENT);
    case "replay":
      return await withStore(task.from, task, async (store) => {
        const key = task.encryption && (await keyFrom(task.encryption));
        return { ok: true, kind: "replay", snapshot: await replay(task, { ...options, store, key, board }) };
      });
    case "list":
      return await withStore(task.from, task, async (store) => {
        const { lines, backups } = await listBackups(store, task.prefix ?? "", signal);
        (options.print ?? ((text) => process.stdout.write(text)))(`${lines.join("\n")}\n`);
        return { ok: true, kind: "list", backups };
      });
    case "verify":
      board.phase = "Verifying";
      return await performVerify(task, options);
  }
}

/** Limits for an archive. It retries by itself, so a short limit shows soon that nothing can be stored. */
const IMPATIENT: Patience = { ...PATIENCE, giveUpMs: 10_000 };

async function withStore(
  location: StoreLocation,
  { credentialsDir, needsCredentials = false }: MountedCredentials,
  use: (store: ObjectStore) => Promise<AgentReport>,
  patience: Patience = PATIENCE,
): Promise<AgentReport> {
  const credentials = credentialsDir === undefined ? {} : { credentialsDir, needsCredentials };
  const store = await openStore(location, { patience, ...credentials });
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
  { signal, log }: PerformOptions,
): Promise<AgentReport> {
  const key = task.encryption && (await keyFrom(task.encryption));
  return { ok: true, kind: "fetch", snapshot: await fetchSnapshot(task, { store, key, board, signal, log }) };
}

async function performArchive(
  task: ArchiveTask,
  store: ObjectStore,
  board: ProgressBoard,
  options: PerformOptions,
): Promise<never> {
  const key = task.encryption && (await keyFrom(task.encryption));
  const sources = new LastingSources(task.source, options.pingIntervalMs);
  try {
    return await archiveChanges(task, { ...options, store, sources, key, board });
  } finally {
    sources.close();
  }
}

async function performBackup(
  task: BackupTask,
  store: ObjectStore,
  board: ProgressBoard,
  options: PerformOptions,
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

async function performVerify(
  { workDir, endpoint }: VerifyTask,
  { signal, clock, patienceMs = PATIENCE_MS }: PerformOptions,
): Promise<AgentReport> {
  const expected = await readExpectation(workDir);
  const source = openSource(endpoint);
  try {
    return { ok: true, kind: "verify", ...(await verifyRestored(expected, { source, clock, signal, patienceMs })) };
  } finally {
    source.close();
  }
}
