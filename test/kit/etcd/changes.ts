import { mkdtempSync, rmSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EncryptionKey } from "#agent/archive/key.ts";
import { archiveChanges } from "#agent/changes/archive.ts";
import { replay } from "#agent/changes/replay.ts";
import { asAgentError } from "#agent/copy.ts";
import type { AgentError } from "#agent/error.ts";
import { ProgressBoard } from "#agent/progress.ts";
import type { ArchiveProgress, ReplayedSnapshot } from "#agent/report.ts";
import { leaveExpectation } from "#agent/restore/expectation.ts";
import { openSources } from "#agent/source.ts";
import { type ArchiveTask, REPLAY_ETCD_FLAGS, type ReplayTask, SNAPSHOT_FILE, type Until } from "#agent/task.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { etcdTool, type TestVolume } from "#kit/snapshots/backup.ts";
import { openStore } from "#objectstore/open.ts";
import { type EtcdVersionText, neverAborted, planEtcd, type RunningEtcd, until, untilLed } from "./etcd.ts";

export const PREFIX = "backups/default/changes";
const BACKUP = "backups/default/db.db";

/** An archiver that runs in this process. */
export interface TestArchiver {
  readonly progress: ArchiveProgress | undefined;
  /** Resolves with the archiver's final error. */
  readonly ended: Promise<AgentError>;
  /** Waits until everything up to this revision is stored. */
  stored(revision: number): Promise<void>;
  stop(): Promise<AgentError>;
}

export function startArchiver(
  volume: TestVolume,
  endpoints: readonly string[],
  { key, ...change }: Partial<ArchiveTask> & { key?: EncryptionKey | undefined } = {},
): TestArchiver {
  const task: ArchiveTask = {
    kind: "archive",
    source: { endpoints },
    destination: { store: "volume", path: volume.path },
    prefix: PREFIX,
    maxAgeSeconds: 1,
    maxBytes: 1024 ** 2,
    ...change,
  };
  const board = new ProgressBoard(0);
  const stop = new AbortController();
  const run = async (): Promise<never> => {
    const store = await openStore(task.destination);
    const sources = await openSources(task.source);
    try {
      const parts = { store, sources, key, board, signal: stop.signal, clock: systemClock, log: silentLog };
      return await archiveChanges(task, parts);
    } finally {
      sources.close();
      await store.close();
    }
  };
  const ended = run().catch((thrown: unknown) => asAgentError(thrown));
  return {
    get progress() {
      return board.now.archive;
    },
    ended,
    stored: (revision) =>
      until(`revision ${revision} is stored`, async () => Number(board.now.archive?.revision ?? 0) >= revision),
    async stop() {
      stop.abort();
      return await ended;
    },
  };
}

/** A temporary etcd started from a snapshot, as in a restore. */
export interface Replica {
  readonly etcd: RunningEtcd;
  readonly workDir: string;
  replay(until: Until, key?: EncryptionKey): Promise<ReplayedSnapshot>;
  stop(): Promise<void>;
}

/** @param given.isAuthLifted whether the backup's etcd has authentication enabled, and this one does not */
export async function startReplica(
  version: EtcdVersionText,
  volume: TestVolume,
  given: { readonly isAuthLifted?: true } = {},
): Promise<Replica> {
  const workDir = mkdtempSync(join(tmpdir(), "replay-"));
  const snapshot = join(workDir, SNAPSHOT_FILE);
  await copyFile(join(volume.path, BACKUP), snapshot);
  await leaveExpectation(workDir, { key: BACKUP, host: "", revision: "1", sha256: "", ...given });
  // The default election timeout of ten seconds delays the first leader by up to ten seconds.
  const etcd = await startRestored(version, snapshot, [...REPLAY_ETCD_FLAGS, "--election-timeout=2000"]);
  return {
    etcd,
    workDir,
    async replay(wanted, key) {
      const task: ReplayTask = {
        kind: "replay",
        from: { store: "volume", path: volume.path },
        key: BACKUP,
        prefix: PREFIX,
        until: wanted,
        endpoint: `http://${etcd.members[0]!.endpoint.address}`,
        workDir,
      };
      const store = await openStore(task.from);
      try {
        const board = new ProgressBoard(0);
        return await replay(task, { store, key, board, signal: neverAborted, clock: systemClock, log: silentLog });
      } finally {
        await store.close();
      }
    },
    async stop() {
      await etcd.stop();
      rmSync(workDir, { recursive: true });
    },
  };
}

/** An etcd of one member with the content of a snapshot. */
export async function startRestored(
  version: EtcdVersionText,
  snapshot: string,
  flags: readonly string[] = [],
): Promise<RunningEtcd> {
  const etcd = await planEtcd({ version, members: 1 });
  const member = etcd.members[0]!;
  try {
    await etcdTool(
      version,
      "etcdutl",
      ...["snapshot", "restore", snapshot, `--data-dir=${member.plan.dir}`, `--name=${member.plan.name}`],
      ...[`--initial-cluster=${etcd.initialCluster}`, `--initial-advertise-peer-urls=${member.peerUrl}`],
      `--initial-cluster-token=${etcd.token}`,
    );
    await member.start({ initialCluster: etcd.initialCluster, state: "existing" }, flags);
    await untilLed(etcd.client, member);
  } catch (thrown) {
    await etcd.stop();
    throw thrown;
  }
  return etcd;
}
