import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, onTestFinished, test } from "vitest";
import { readManifest } from "#agent/archive/manifest.ts";
import { type AgentReport, type FailureReason, reportIn } from "#agent/report.ts";
import type { BackupTask } from "#agent/task.ts";
import { type EtcdMember, type RunningEtcd, startEtcd, untilLed } from "#kit/etcd/etcd.ts";
import { type HoldingProxy, startHoldingProxy } from "#kit/servers/holding-proxy.ts";
import { credentialsDir, removeTemporaryDirs, temporaryDir } from "#kit/servers/store-server.ts";
import { S3_ACCESS, startVersitygw, type Versitygw } from "#kit/servers/versitygw.ts";
import { etcdTool, load, urlOf } from "#kit/snapshots/backup.ts";
import { openStore } from "#objectstore/open.ts";

// The agent as a process, a real etcd and a real store, each killed in mid-stream: no object looks complete, and a
// later attempt succeeds.

const VERSION = "3.6.16";
/** More than the buffers between etcd and a stalled store, and more than one part. */
const MEGABYTES = 40;
/** Within the snapshot, and after its first part. */
const MID_STREAM = 12_000_000;

describe("during a backup", () => {
  let etcd: RunningEtcd;
  let store: Versitygw;
  const credentials = credentialsDir({ AWS_ACCESS_KEY_ID: S3_ACCESS.id, AWS_SECRET_ACCESS_KEY: S3_ACCESS.secret });
  beforeAll(async () => {
    etcd = await startEtcd({ version: VERSION, members: 3 });
    await load(etcd, MEGABYTES);
    store = await startVersitygw();
    store.bucket("backups");
  });
  afterAll(async () => {
    await store.stop();
    await etcd.stop();
    removeTemporaryDirs();
  });

  let count = 0;
  const taskFrom = (members: readonly EtcdMember[]): BackupTask => ({
    kind: "backup",
    backupUID: "0a1b2c3d-0000-4000-8000-000000000000",
    source: { endpoints: members.map(urlOf) },
    destination: { store: "s3", bucket: "backups", region: "us-east-1", pathStyle: true },
    key: `killed/${++count}.db`,
    credentialsDir: credentials,
    compression: "None",
    about: { namespace: "default", backupName: "killed" },
  });

  /** The task with the store behind this port. */
  const by = (task: BackupTask, port: number): BackupTask => ({
    ...task,
    destination: { ...task.destination, endpoint: `http://127.0.0.1:${port}` } as BackupTask["destination"],
  });

  /** Keys of this task that the store lists. */
  async function keysOf({ destination, key }: BackupTask): Promise<readonly string[]> {
    const opened = await openStore({ ...destination, endpoint: `http://127.0.0.1:${store.port}` } as never, {
      credentialsDir: credentials,
    });
    const keys: string[] = [];
    for await (const object of opened.list(key, { signal: AbortSignal.timeout(10_000) })) keys.push(object.key);
    await opened.close();
    return keys.sort();
  }

  /**
   * Makes another attempt, as the Job does, and checks the object with etcd's own tool.
   * @returns the member that was read
   */
  async function succeeds(task: BackupTask): Promise<string> {
    const report = await startAgent(by(task, store.port)).report;
    assert.ok(report?.ok === true && report.kind === "backup", JSON.stringify(report));
    assert.deepEqual(await keysOf(task), [task.key, `${task.key}.manifest.json`]);
    const file = join(store.root, "backups", task.key);
    const manifest = readManifest(readFileSync(`${file}.manifest.json`, "utf8"), task.key);
    assert.equal(manifest.sha256, report.object.sha256);
    assert.equal(readFileSync(file).length, report.object.bytes);
    await etcdTool(VERSION, "etcdutl", "snapshot", "status", file);
    return report.object.memberID;
  }

  async function heldAt(isEnough: Parameters<typeof startHoldingProxy>[1]): Promise<HoldingProxy> {
    const proxy = await startHoldingProxy(() => store.port, isEnough);
    onTestFinished(() => proxy.stop());
    return proxy;
  }

  test("when the agent is killed, no object is visible", async () => {
    const proxy = await heldAt((bytes) => bytes > MID_STREAM);
    const task = taskFrom(etcd.members);
    const agent = startAgent(by(task, proxy.port));
    await proxy.held;
    await agent.kill();
    proxy.resume();
    assert.deepEqual(await keysOf(task), []);
    await succeeds(task);
  });

  test("when the agent is killed between object and manifest, the next attempt replaces the object", async () => {
    const proxy = await heldAt((_, piece) => piece.includes(".manifest.json") && piece.includes("PUT "));
    const task = taskFrom(etcd.members);
    const agent = startAgent(by(task, proxy.port));
    await proxy.held;
    await agent.kill();
    assert.deepEqual(await keysOf(task), [task.key]);
    await succeeds(task);
  });

  test("when the store is killed and started again, the agent continues or fails for a retry, and no object is incomplete", async () => {
    const proxy = await heldAt((bytes) => bytes > MID_STREAM);
    const task = taskFrom(etcd.members);
    const agent = startAgent(by(task, proxy.port));
    await proxy.held;
    await store.stop();
    proxy.resume();
    store = await startVersitygw({ root: store.root });
    const report = await agent.report;
    if (report?.ok === false) {
      assert.equal(report.retry, true, report.message);
      // versitygw may have lost a part: then nothing is left. Or the last look failed: then the backup is complete.
      const left = (await keysOf(task)).length;
      assert.ok(left === 0 || left === 2, `${left} objects are left: ${report.message}`);
    }
    await succeeds(task);
  });

  test("when the member that sends the snapshot is killed, another member sends it from the start", async () => {
    const proxy = await heldAt((bytes) => bytes > MID_STREAM);
    const task = taskFrom(etcd.members);
    const agent = startAgent(by(task, proxy.port));
    await proxy.held;
    const [first] = agent.read;
    const member = etcd.members.find(({ endpoint }) => endpoint.address === first)!;
    await member.kill();
    proxy.resume();
    const report = await agent.report;
    assert.ok(report?.ok, JSON.stringify(report));
    assert.equal(agent.read.length, 2);
    assert.notEqual(agent.read[1], first);
    assert.equal(await succeeds(task), report.kind === "backup" ? report.object.memberID : "");
    await restart(member);
  });

  test("when the only endpoint is killed, the agent reports it, and there is no object", async () => {
    const proxy = await heldAt((bytes) => bytes > MID_STREAM);
    const member = etcd.members[1]!;
    const task = taskFrom([member]);
    const agent = startAgent(by(task, proxy.port));
    await proxy.held;
    await member.kill();
    proxy.resume();
    isFailure(await agent.report, "SourceUnreachable");
    assert.deepEqual(await keysOf(task), []);
    await restart(member);
    await succeeds(task);
  });

  async function restart(member: EtcdMember): Promise<void> {
    await member.start({ initialCluster: etcd.initialCluster, state: "existing" });
    await untilLed(etcd.client, member);
  }
});

function isFailure(report: AgentReport | undefined, reason: FailureReason): void {
  assert.ok(report?.ok === false && report.reason === reason && report.retry, JSON.stringify(report));
}

interface Agent {
  /** The report that the agent left when it ended; undefined if it left none. */
  readonly report: Promise<AgentReport | undefined>;
  /** Addresses of the members that it has read, in order. */
  readonly read: readonly string[];
  kill(): Promise<void>;
}

function startAgent(task: BackupTask): Agent {
  const reportFile = join(temporaryDir("agent"), "report");
  const child: ChildProcess = spawn(
    process.execPath,
    ["src/bin/agent.ts", `--report-file=${reportFile}`, "--progress-port=0"],
    { env: { AGENT_TASK: JSON.stringify(task) }, stdio: ["ignore", "pipe", "inherit"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const read: string[] = [];
  let rest = "";
  child.stdout?.on("data", (bytes: Buffer) => {
    const lines = (rest + bytes.toString()).split("\n");
    rest = lines.pop() ?? "";
    const said = lines.map((line) => JSON.parse(line) as { msg: string; address: string });
    read.push(...said.filter(({ msg }) => msg === "reading a snapshot").map(({ address }) => address));
  });
  const ended = once(child, "close");
  const left = async () => {
    await ended;
    try {
      return reportIn(readFileSync(reportFile, "utf8"));
    } catch {
      return undefined;
    }
  };
  return {
    report: left(),
    read,
    async kill() {
      child.kill("SIGKILL");
      await ended;
      assert.equal(child.signalCode, "SIGKILL");
    },
  };
}
