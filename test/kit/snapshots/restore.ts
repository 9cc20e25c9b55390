import { join } from "node:path";
import { runAgent } from "#agent/run.ts";
import { type AgentTask, type FetchTask, type FinishTask, SNAPSHOT_FILE } from "#agent/task.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import type { EtcdMember, EtcdVersionText } from "#kit/etcd/etcd.ts";
import { neverAborted } from "#kit/etcd/etcd.ts";
import { etcdTool, type TestVolume } from "./backup.ts";

/** Runs the task in this process. */
export async function runTask(task: AgentTask, volume: TestVolume) {
  return await runAgent({
    task: JSON.stringify(task),
    reportFile: join(volume.path, ".report"),
    progressPort: 0,
    signal: neverAborted,
    clock: systemClock,
    log: silentLog,
  });
}

/**
 * The task of a restore's pod that fetches the object with this key.
 * @param dir where the data volume is mounted
 */
export function fetchTask(volume: TestVolume, key: string, dir: string, change: Partial<FetchTask> = {}): FetchTask {
  return {
    kind: "fetch",
    from: { store: "volume", path: volume.path },
    key,
    workDir: join(dir, ".restore-uid"),
    ...change,
  };
}

export function finishTask({ workDir }: FetchTask, dataDir: string, change: Partial<FinishTask> = {}): FinishTask {
  return { kind: "finish", workDir, restored: join(workDir, "data"), dataDir, restoreUID: "uid", ...change };
}

export const BUMP = 1_000_000_000;

/** The step after the fetch: `etcdutl` restores the snapshot for this member. */
export async function etcdutlRestore(
  version: EtcdVersionText,
  { workDir }: FetchTask,
  member: EtcdMember,
  initialCluster: string,
  bump = BUMP,
): Promise<void> {
  const { name, token } = member.plan;
  await etcdTool(
    version,
    "etcdutl",
    ...["snapshot", "restore", join(workDir, SNAPSHOT_FILE), `--data-dir=${join(workDir, "data")}`, `--name=${name}`],
    ...[`--initial-cluster=${initialCluster}`, `--initial-advertise-peer-urls=${member.peerUrl}`],
    `--initial-cluster-token=${token}`,
    ...(bump === 0 ? [] : [`--bump-revision=${bump}`, "--mark-compacted"]),
  );
}
