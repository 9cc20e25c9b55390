import { spawn } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { reportIn } from "#agent/report.ts";
import { AGENT_COMMAND, type BackupTask, TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_BUNDLE, bundle } from "#dev/bundle.ts";
import { ENVIRONMENT } from "#dev/operator-image.ts";
import { etcdTool } from "#kit/backup.ts";
import { neverAborted, type RunningEtcd, startEtcd } from "#kit/etcd.ts";
import { S3_ACCESS, startVersitygw } from "#kit/versitygw.ts";
import { openStore } from "#objectstore/open.ts";
import { median, print, rounded, say } from "./figure.ts";

// The agent, as the image has it, against what a person would do: `etcdctl snapshot save` to a file, then an upload of it by the same client
// of the same store. Both take turns; which one begins changes. What the agent's memory was at its peak, the kernel tells.

const VERSION = "3.6.16";
const ROUNDS = 3;
const MEGABYTES = 1024;
const VALUE_BYTES = 1024 ** 2;
/** Half of each value is random: no compression makes nothing of it, nor gains nothing. */
const RANDOM_BYTES = VALUE_BYTES / 2;

const { values } = parseArgs({
  options: { "audit-log": { type: "string" }, rounds: { type: "string" }, megabytes: { type: "string" } },
});
const rounds = Number(values.rounds ?? ROUNDS);
const megabytes = Number(values.megabytes ?? MEGABYTES);

const home = mkdtempSync(join(tmpdir(), "bench-backup-"));
const { files } = await bundle(process.cwd(), AGENT_BUNDLE);
const program = files.find(({ to }) => to === AGENT_BUNDLE.program)?.from ?? "";
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

async function measure({ members }: RunningEtcd): Promise<void> {
  const { address } = members[0]!.endpoint;
  const volume = join(home, "volume");
  mkdirSync(volume);
  const ours: number[] = [];
  const theirs: number[] = [];
  const peaks: number[] = [];
  let bytes = 0;
  for (let round = 0; round < rounds; round++) {
    const agent = async () => {
      const made = await byAgent({ address, destination: { store: "volume", path: volume }, round });
      ours.push(made.seconds);
      peaks.push(made.peakMb);
      bytes = made.bytes;
    };
    const person = async () => void theirs.push(await byHand(address, volume, round));
    for (const turn of round % 2 === 0 ? [agent, person] : [person, agent]) await turn();
    say(
      `round ${round + 1}: the agent ${ours.at(-1)?.toFixed(1)} s, etcdctl and upload ${theirs.at(-1)?.toFixed(1)} s`,
    );
    rmSync(volume, { recursive: true });
    mkdirSync(volume);
  }
  peaks.push(await peakToS3(address));
  print({
    bench: "backup",
    mbPerSecond: rounded(bytes / 1e6 / median(ours), 0),
    peakRssMb: rounded(Math.max(...peaks), 0),
    ratioToEtcdctl: rounded(median(theirs) / median(ours)),
    megabytes: rounded(bytes / 1e6, 0),
  });
}

/** The heaviest way: compressed, encrypted, in parts of many megabytes through the largest library. */
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
    const { peakMb, seconds } = await byAgent({
      address,
      destination: { store: "s3", bucket: server.bucket("backups"), endpoint, region: "us-east-1", pathStyle: true },
      round: 0,
      more: { credentialsDir, compression: "Zstd", encryption: { keyFile } },
    });
    say(`compressed and encrypted to S3: ${seconds.toFixed(1)} s, ${peakMb.toFixed(0)} MB at most`);
    return peakMb;
  } finally {
    await server.stop();
  }
}

interface AgentRun {
  readonly address: string;
  readonly destination: BackupTask["destination"];
  readonly round: number;
  readonly more?: Partial<BackupTask>;
}

/** Seconds from the start of the process to its end. */
async function byAgent({ address, destination, round, more }: AgentRun) {
  const task: BackupTask = {
    kind: "backup",
    backupUID: "bench",
    source: { endpoints: [`http://${address}`] },
    destination,
    key: `agent-${round}.db`,
    compression: "None",
    about: { namespace: "bench", backupName: "bench" },
    ...more,
  };
  const reportFile = join(home, "report");
  const [, ...args] = AGENT_COMMAND;
  const startMs = performance.now();
  const child = spawn(
    process.execPath,
    [
      ...args.map((arg) => (arg === AGENT_BUNDLE.program ? program : arg)),
      `--report-file=${reportFile}`,
      "--progress-port=0",
    ],
    { env: { ...ENVIRONMENT, [TASK_VARIABLE]: JSON.stringify(task) }, stdio: ["ignore", "ignore", "inherit"] },
  );
  let peakMb = 0;
  const watch = setInterval(() => {
    peakMb = Math.max(peakMb, peakMbOf(child.pid));
  }, 20);
  await new Promise((resolve) => child.once("exit", resolve));
  const seconds = (performance.now() - startMs) / 1000;
  clearInterval(watch);
  const text = readFileSync(reportFile, "utf8");
  const report = reportIn(text);
  if (report?.ok !== true || report.kind !== "backup") throw new Error(`the agent has failed: ${text}`);
  return { seconds, peakMb, bytes: report.object.bytes };
}

/** 0 when it has ended. */
function peakMbOf(pid: number | undefined): number {
  try {
    const [, kib = "0"] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (Number(kib) * 1024) / 1e6;
  } catch {
    return 0; // it ended a moment ago, and its last look was one of 20 ms before
  }
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
