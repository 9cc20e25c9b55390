import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Progress, progressIn } from "#agent/report.ts";
import { type ArchiveTask, PROGRESS_PATH } from "#agent/task.ts";
import { ARCHIVE_BYTES } from "#backup/desired/task.ts";
import { systemClock } from "#base/clock.ts";
import { neverAborted, startEtcd, until } from "#kit/etcd/etcd.ts";
import { EtcdUser } from "#kit/etcd/etcd-history.ts";
import { S3_ACCESS, startVersitygw } from "#kit/servers/versitygw.ts";
import { urlOf } from "#kit/snapshots/backup.ts";
import { type AgentProcess, agentProgram, startAgent } from "./agent-process.ts";
import { print, rounded, say } from "./figure.ts";

// Memory of the archiver while its etcd is written to as fast as it takes writes. The archiver is bundled as for the
// image, and stores what it receives over S3, encrypted. Then one revision deletes very many keys at once. The kernel
// reports the peak memory.

const VERSION = "3.6.16";
const SECONDS = 60;
const WRITERS = 16;
/** Half of each value is random, as in the bench of backups. */
const RANDOM_BYTES = 256;
const REST = "a value of the bench, ".repeat(24);
const DELETED = 50_000;
/** Limit for archiving the deletion, in milliseconds: etcd needs half a minute to send its events. */
const DELETION_MS = 5 * 60_000;
/** Puts in one transaction: the default of etcd's --max-txn-ops. */
const PUTS = 128;

const home = mkdtempSync(join(tmpdir(), "bench-archive-"));
const program = await agentProgram();
const store = await startVersitygw();
const etcd = await startEtcd({ version: VERSION, members: 1, extraArgs: ["--quota-backend-bytes=8589934592"] });
try {
  await measure();
} finally {
  await etcd.stop();
  await store.stop();
  rmSync(home, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const url = urlOf(etcd.members[0]!);
  using user = new EtcdUser(url);
  const progressPort = await freePort();
  const agent = startAgent(program, task(url), { reportFile: join(home, "report"), progressPort });
  try {
    await follow(user, agent, progressPort);
  } finally {
    agent.child.kill("SIGKILL");
  }
}

async function follow(user: EtcdUser, agent: AgentProcess, progressPort: number): Promise<void> {
  const archived = async () => Number((await ask(progressPort))?.archive?.revision ?? 0);
  await until("the archiver follows", async () => (await archived()) > 0);
  const startMb = agent.peakMb;
  const first = await user.revision();
  const endMs = performance.now() + SECONDS * 1_000;
  await Promise.all(Array.from({ length: WRITERS }, (_, n) => write(user, n, endMs)));
  const written = await user.revision();
  const lateMs = performance.now();
  await until("all writes are archived", async () => (await archived()) >= written);
  const lagSeconds = (performance.now() - lateMs) / 1_000;
  const writingMb = agent.peakMb;
  const { bytes = 0, objects = 0, gaps = 0 } = (await ask(progressPort))?.archive ?? {};
  say(`${written - first} revisions in ${objects} objects, ${gaps} gaps: ${writingMb.toFixed(0)} MB at most`);
  await fill(user);
  const deleted = await user.deletePrefix("many/");
  const giveUpMs = performance.now() + DELETION_MS;
  while ((await archived()) < deleted && performance.now() < giveUpMs) await systemClock.sleep(500, neverAborted);
  if ((await archived()) < deleted)
    throw new Error(`The archiver did not archive ${DELETED} deletions within five minutes.`);
  agent.child.kill("SIGTERM");
  const deletionMb = await agent.ended;
  print({
    bench: "archive",
    peakRssMb: rounded(writingMb, 0),
    idleRssMb: rounded(startMb, 0),
    deletionRssMb: rounded(deletionMb, 0),
    revisionsPerSecond: rounded((written - first) / SECONDS, 0),
    bytesPerRevision: rounded(bytes / (written - first), 0),
    lagSeconds: rounded(lagSeconds, 1),
  });
}

function task(url: string): ArchiveTask {
  const credentialsDir = join(home, "credentials");
  mkdirSync(credentialsDir);
  writeFileSync(join(credentialsDir, "AWS_ACCESS_KEY_ID"), S3_ACCESS.id);
  writeFileSync(join(credentialsDir, "AWS_SECRET_ACCESS_KEY"), S3_ACCESS.secret);
  const keyFile = join(home, "key");
  writeFileSync(keyFile, Buffer.alloc(32, 7));
  const endpoint = `http://127.0.0.1:${store.port}`;
  return {
    kind: "archive",
    source: { endpoints: [url] },
    destination: { store: "s3", bucket: store.bucket("backups"), endpoint, region: "us-east-1", pathStyle: true },
    credentialsDir,
    encryption: { keyFile },
    prefix: "bench/changes",
    maxAgeSeconds: 10,
    maxBytes: ARCHIVE_BYTES,
  };
}

async function write(user: EtcdUser, writer: number, endMs: number): Promise<void> {
  for (let n = 0; performance.now() < endMs; n++) {
    await user.put(`load/${writer}/${n % 1_000}`, `${randomBytes(RANDOM_BYTES).toString("hex")}${REST}`);
  }
}

async function fill(user: EtcdUser): Promise<void> {
  for (let n = 0; n < DELETED; n += PUTS) {
    const keys = Array.from({ length: PUTS }, (_, i) => [`many/a-key-of-usual-length/${n + i}`, "x"]);
    await user.change(Object.fromEntries(keys) as Record<string, string>);
  }
}

async function ask(port: number): Promise<Progress | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}${PROGRESS_PATH}`).catch(() => undefined);
  return answer && progressIn(await answer.text());
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
