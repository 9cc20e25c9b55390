import { randomFillSync } from "node:crypto";
import { createReadStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type BackupTask, type FetchTask, type FinishTask, SNAPSHOT_FILE } from "#agent/task.ts";
import { neverAborted, type RunningEtcd, startEtcd } from "#kit/etcd/etcd.ts";
import { S3_ACCESS, startVersitygw } from "#kit/servers/versitygw.ts";
import { etcdTool } from "#kit/snapshots/backup.ts";
import { openStore } from "#objectstore/open.ts";
import { agentProgram, runAgent } from "./agent-process.ts";
import { median, print, rounded, say } from "./figure.ts";

// Speed and memory of a backup by the agent, which is bundled as for the image. The kernel reports its peak memory. The
// backup is compared with one by hand: `etcdctl snapshot save` to a file, then an upload with the same client. The two
// take turns, and the order alternates. Each backup is then restored as by a restore's pod. The agent fetches it,
// etcdutl makes a data directory of it, and the agent moves that to its place. A restore is compared with etcdutl alone,
// on the stored file. At last a backup runs while a client writes, which shows how long writes stall.

const VERSION = "3.6.16";
const ROUNDS = 3;
const MEGABYTES = 1024;
const VALUE_BYTES = 1024 ** 2;
/** How long a client writes before the backup that it is compared with, in milliseconds. */
const BEFORE_MS = 10_000;
/** Half of each value is random, so that compression gains something, and not everything. */
const RANDOM_BYTES = VALUE_BYTES / 2;

const { values } = parseArgs({
  options: { "audit-log": { type: "string" }, rounds: { type: "string" }, megabytes: { type: "string" } },
});
const rounds = Number(values.rounds ?? ROUNDS);
const megabytes = Number(values.megabytes ?? MEGABYTES);

const home = mkdtempSync(join(tmpdir(), "bench-backup-"));
const program = await agentProgram();
const reportFile = join(home, "report");
const etcd = await startEtcd({ version: VERSION, members: 1, extraArgs: ["--quota-backend-bytes=8589934592"] });
try {
  await load(etcd);
  await measure(etcd);
} finally {
  await etcd.stop();
  rmSync(home, { recursive: true, force: true });
}

async function load({ client, members }: RunningEtcd): Promise<void> {
  const value = Buffer.alloc(VALUE_BYTES, "a value of the bench, ");
  for (let n = 0; n < megabytes; n++) {
    randomFillSync(value, 0, RANDOM_BYTES);
    await client.put(members[0]!.endpoint, `big/${n}`, value, { signal: neverAborted, deadlineMs: 30_000 });
  }
  say(`${megabytes} MiB are loaded`);
}

async function measure(running: RunningEtcd): Promise<void> {
  const { address } = running.members[0]!.endpoint;
  const volume = join(home, "volume");
  mkdirSync(volume);
  const ours: number[] = [];
  const theirs: number[] = [];
  const restores: number[] = [];
  const restoresByHand: number[] = [];
  const peaks: number[] = [];
  let bytes = 0;
  for (let round = 0; round < rounds; round++) {
    const agent = async () => {
      const made = await runAgent(
        program,
        backupTask({ address, destination: { store: "volume", path: volume }, round }),
        reportFile,
      );
      ours.push(made.seconds);
      peaks.push(made.peakMb);
      bytes = made.report.object.bytes;
    };
    const person = async () => void theirs.push(await byHand(address, volume, round));
    for (const turn of round % 2 === 0 ? [agent, person] : [person, agent]) await turn();
    const restored = await restore(volume, round);
    restores.push(restored.seconds);
    restoresByHand.push(await restoreByHand(volume, round));
    peaks.push(restored.peakMb);
    const each = [ours, theirs, restores, restoresByHand].map((seconds) => `${seconds.at(-1)?.toFixed(1)} s`);
    say(
      `round ${round + 1}: the agent ${each[0]}, etcdctl and upload ${each[1]}, the restore ${each[2]}, etcdutl alone ${each[3]}`,
    );
    rmSync(volume, { recursive: true });
    mkdirSync(volume);
  }
  const stall = await stalls(running, () =>
    runAgent(
      program,
      backupTask({ address, destination: { store: "volume", path: volume }, round: rounds }),
      reportFile,
    ),
  );
  rmSync(volume, { recursive: true });
  peaks.push(await peakToS3(address));
  print({
    bench: "backup",
    mbPerSecond: rounded(bytes / 1e6 / median(ours), 0),
    peakRssMb: rounded(Math.max(...peaks), 0),
    ratioToEtcdctl: rounded(median(theirs) / median(ours)),
    restoreMbPerSecond: rounded(bytes / 1e6 / median(restores), 0),
    ratioToEtcdutl: rounded(median(restoresByHand) / median(restores)),
    longestWriteMs: rounded(stall.duringMs, 0),
    longestWriteBeforeMs: rounded(stall.beforeMs, 0),
    megabytes: rounded(bytes / 1e6, 0),
  });
}

/**
 * Peak memory of the most expensive kind of backup: compressed, encrypted, in large parts, with the largest client
 * library.
 */
async function peakToS3(address: string): Promise<number> {
  const server = await startVersitygw();
  try {
    const credentialsDir = join(home, "credentials");
    mkdirSync(credentialsDir);
    writeFileSync(join(credentialsDir, "AWS_ACCESS_KEY_ID"), S3_ACCESS.id);
    writeFileSync(join(credentialsDir, "AWS_SECRET_ACCESS_KEY"), S3_ACCESS.secret);
    const keyFile = join(home, "key");
    writeFileSync(keyFile, Buffer.alloc(32, 7));
    const endpoint = `http://127.0.0.1:${server.port}`;
    const { peakMb, seconds } = await runAgent(
      program,
      backupTask({
        address,
        destination: { store: "s3", bucket: server.bucket("backups"), endpoint, region: "us-east-1", pathStyle: true },
        round: 0,
        more: { credentialsDir, compression: "Zstd", encryption: { keyFile } },
      }),
      reportFile,
    );
    say(`compressed and encrypted to S3: ${seconds.toFixed(1)} s, ${peakMb.toFixed(0)} MB at most`);
    return peakMb;
  } finally {
    await server.stop();
  }
}

interface Backup {
  readonly address: string;
  readonly destination: BackupTask["destination"];
  readonly round: number;
  readonly more?: Partial<BackupTask>;
}

function backupTask({ address, destination, round, more }: Backup): BackupTask {
  return {
    kind: "backup",
    backupUID: "bench",
    source: { endpoints: [`http://${address}`] },
    destination,
    key: keyOf(round),
    compression: "None",
    about: { namespace: "bench", backupName: "bench" },
    ...more,
  };
}

function keyOf(round: number): string {
  return `agent-${round}.db`;
}

/** Seconds of all three steps together. */
async function restore(volume: string, round: number): Promise<{ readonly seconds: number; readonly peakMb: number }> {
  const data = join(home, "data");
  mkdirSync(data);
  const workDir = join(data, ".restore-bench");
  const restored = join(workDir, "data");
  const from = { store: "volume", path: volume } as const;
  const fetch: FetchTask = { kind: "fetch", from, key: keyOf(round), workDir };
  const finish: FinishTask = { kind: "finish", workDir, restored, dataDir: join(data, "data"), restoreUID: "bench" };
  const startMs = performance.now();
  const fetched = await runAgent(program, fetch, reportFile);
  const snapshot = join(workDir, SNAPSHOT_FILE);
  await etcdTool(VERSION, "etcdutl", "snapshot", "restore", snapshot, `--data-dir=${restored}`);
  const finished = await runAgent(program, finish, reportFile);
  const seconds = (performance.now() - startMs) / 1000;
  rmSync(data, { recursive: true });
  return { seconds, peakMb: Math.max(fetched.peakMb, finished.peakMb) };
}

/** Seconds of etcdutl alone, which makes a data directory of the stored object. */
async function restoreByHand(volume: string, round: number): Promise<number> {
  const data = join(home, "by-hand");
  const startMs = performance.now();
  await etcdTool(VERSION, "etcdutl", "snapshot", "restore", join(volume, keyOf(round)), `--data-dir=${data}`);
  const seconds = (performance.now() - startMs) / 1000;
  rmSync(data, { recursive: true });
  return seconds;
}

/**
 * One client writes without pause while `work` runs, and before that for as long as BEFORE_MS.
 * @returns the longest time that one write took, in milliseconds, before and during the work
 */
async function stalls({ client, members }: RunningEtcd, work: () => Promise<unknown>) {
  let [beforeMs, duringMs] = [0, 0];
  const write = async () => {
    const startMs = performance.now();
    await client.put(members[0]!.endpoint, "small", "yes", { signal: neverAborted, deadlineMs: 60_000 });
    return performance.now() - startMs;
  };
  const untilMs = performance.now() + BEFORE_MS;
  while (performance.now() < untilMs) beforeMs = Math.max(beforeMs, await write());
  let isDone = false;
  const working = work().finally(() => {
    isDone = true;
  });
  while (!isDone) duringMs = Math.max(duringMs, await write());
  await working;
  say(`the longest write took ${beforeMs.toFixed(0)} ms before the backup, and ${duringMs.toFixed(0)} ms during it`);
  return { beforeMs, duringMs };
}

/** Seconds of both steps together. */
async function byHand(address: string, volume: string, round: number): Promise<number> {
  const file = join(home, `by-hand-${round}.db`);
  const startMs = performance.now();
  await etcdTool(VERSION, "etcdctl", `--endpoints=${address}`, "snapshot", "save", file);
  const store = await openStore({ store: "volume", path: volume });
  await store.put(`by-hand-${round}.db`, createReadStream(file, { highWaterMark: VALUE_BYTES }), {
    signal: neverAborted,
  });
  await store.close();
  const seconds = (performance.now() - startMs) / 1000;
  rmSync(file);
  return seconds;
}
