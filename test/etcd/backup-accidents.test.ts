import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { AgentError } from "#agent/error.ts";
import { type FailureReason, reportIn } from "#agent/report.ts";
import type { BackupTask } from "#agent/task.ts";
import { systemClock } from "#base/clock.ts";
import { hexOf } from "#etcd/types.ts";
import { type EtcdMember, neverAborted, type RunningEtcd, startEtcd, until, untilLed } from "#kit/etcd/etcd.ts";
import {
  backupTask,
  etcdTool,
  load,
  startBackup,
  startFlippingProxy,
  TestVolume,
  urlOf,
} from "#kit/snapshots/backup.ts";

const options = { signal: neverAborted };
/** More than all buffers between etcd and a stalled store. */
const MEGABYTES = 24;

function failed(reason: FailureReason, message = /./): (thrown: unknown) => boolean {
  return (thrown) => thrown instanceof AgentError && thrown.reason === reason && message.test(thrown.message);
}

describe("a backup with failures on the way", () => {
  const version = "3.6.16";
  let etcd: RunningEtcd;
  let volume: TestVolume;
  beforeAll(async () => {
    etcd = await startEtcd({ version, members: 3, extraArgs: ["--grpc-keepalive-min-time=200ms"] });
    await load(etcd, MEGABYTES);
    volume = new TestVolume();
  });
  afterAll(async () => {
    volume[Symbol.dispose]();
    await etcd.stop();
  });

  let count = 0;
  const taskFrom = (members: readonly EtcdMember[]): BackupTask =>
    backupTask(volume, members.map(urlOf), { key: `accident-${++count}.db` });
  const isWhole = (key: string) => volume.keys.includes(key) && volume.keys.includes(`${key}.manifest.json`);
  const nothingOf = (key: string) =>
    assert.deepEqual(
      volume.keys.filter((other) => other.startsWith(key)),
      [],
    );
  const at = (address: string) => etcd.members.find(({ endpoint }) => endpoint.address === address)!;
  /** Restarts the member with its data. */
  async function restart(member: EtcdMember): Promise<void> {
    await member.start({ initialCluster: etcd.initialCluster, state: "existing" }, ["--grpc-keepalive-min-time=200ms"]);
    await untilLed(etcd.client, member);
  }

  test("a slow store slows the member's snapshot stream down without using more memory", async () => {
    const task = taskFrom(etcd.members);
    const backup = startBackup(task, { afterBytes: 1_000_000 });
    await backup.held;
    await systemClock.sleep(300);
    // What the agent has read is in windows and buffers of limited size.
    assert.ok(backup.board.bytesRead < 3_000_000, `${backup.board.bytesRead} bytes`);
    nothingOf(task.key);
    backup.resume();
    assert.ok((await backup.done).bytes > MEGABYTES * 1_000_000);
    assert.ok(isWhole(task.key));
  });

  test("when the member that sends the snapshot is killed, another member sends it from the start", async () => {
    const task = taskFrom(etcd.members);
    const backup = startBackup(task, { afterBytes: 1_000_000 });
    await backup.held;
    const first = at(backup.read[0]!);
    await first.kill();
    backup.resume();
    const object = await backup.done;
    assert.equal(backup.read.length, 2);
    assert.notEqual(backup.read[1], backup.read[0]);
    assert.ok(isWhole(task.key));
    await etcdTool(version, "etcdutl", "snapshot", "status", join(volume.path, object.key));
    await restart(first);
  });

  test("when the only endpoint is killed, the backup fails with the reason and leaves no object", async () => {
    const member = etcd.members[1]!;
    const task = taskFrom([member]);
    const backup = startBackup(task, { afterBytes: 1_000_000 });
    await backup.held;
    await member.kill();
    backup.resume();
    await assert.rejects(backup.done, failed("SourceUnreachable"));
    nothingOf(task.key);
    await restart(member);
  });

  test("when the member that sends the snapshot hangs, HTTP/2 pings detect it, and another member is used", async () => {
    const task = taskFrom(etcd.members);
    const backup = startBackup(task, { afterBytes: 1_000_000, pingIntervalMs: 500 });
    await backup.held;
    const first = at(backup.read[0]!);
    await first.freeze();
    try {
      backup.resume();
      await backup.done;
      assert.equal(backup.read.length, 2);
      assert.ok(isWhole(task.key));
    } finally {
      first.thaw();
    }
  });

  test("when the only endpoint hangs, the backup fails after the allowed time without a byte", async () => {
    const member = etcd.members[2]!;
    const task = taskFrom([member]);
    const backup = startBackup(task, { afterBytes: 1_000_000, patienceMs: 1_000, pingIntervalMs: 60_000 });
    await backup.held;
    await member.freeze();
    try {
      backup.resume();
      await assert.rejects(
        backup.done,
        failed("SourceUnreachable", /no byte has arrived from 127\.0\.0\.1:\d+ for 1 s/),
      );
      nothingOf(task.key);
    } finally {
      member.thaw();
    }
  });

  test("when the store hangs, the backup fails after the allowed time without progress", async () => {
    const task = taskFrom(etcd.members);
    const backup = startBackup(task, { afterBytes: 1_000_000, patienceMs: 500 });
    await backup.held;
    await until("it has failed", () =>
      Promise.race([
        backup.done.then(
          () => true,
          () => true,
        ),
        systemClock.sleep(50).then(() => false),
      ]),
    );
    await assert.rejects(backup.done, failed("StoreUnreachable", /accepted no byte for 1 s/));
    backup.resume();
    nothingOf(task.key);
  });

  test("a byte that changes in transit is detected, and no object is left", async () => {
    const proxy = await startFlippingProxy(etcd.members[0]!.plan.clientPort, 10_000_000);
    try {
      const task = { ...taskFrom([]), source: { endpoints: [proxy.url] } };
      await assert.rejects(startBackup(task).done, failed("SnapshotCorrupt", /changed in transit/));
      nothingOf(task.key);
      // Another member, read directly, delivers the right bytes.
      const both = { ...task, source: { endpoints: [proxy.url, ...etcd.members.map(urlOf)] } };
      await startBackup(both).done;
      assert.ok(isWhole(task.key));
    } finally {
      proxy.stop();
    }
  });

  test("a backup that is cancelled in mid-stream leaves no object", async () => {
    const stop = new AbortController();
    const task = taskFrom(etcd.members);
    const backup = startBackup(task, { afterBytes: 1_000_000, signal: stop.signal });
    await backup.held;
    stop.abort();
    backup.resume();
    await assert.rejects(backup.done, failed("Stopped"));
    nothingOf(task.key);
  });

  test("the agent writes its report and ends with exit code 1 on SIGTERM", async () => {
    const task = taskFrom(etcd.members);
    const reportFile = join(volume.path, ".report");
    const child = spawn(process.execPath, ["src/bin/agent.ts", `--report-file=${reportFile}`, "--progress-port=0"], {
      env: { AGENT_TASK: JSON.stringify({ ...task, source: { endpoints: ["http://192.0.2.1:2379"] } }) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "close");
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [1, null]);
    const report = reportIn(readFileSync(reportFile, "utf8"));
    assert.ok(report?.ok === false && report.reason === "Stopped" && report.retry, JSON.stringify(report));
    nothingOf(task.key);
    await rm(reportFile);
  });

  test("a backup is refused when the cluster has another cluster ID than expected", async () => {
    const { clusterId } = await etcd.client.status(etcd.members[0]!.endpoint, options);
    const task = taskFrom(etcd.members);
    const wrong = startBackup({ ...task, source: { ...task.source, clusterID: "1" } });
    await assert.rejects(wrong.done, failed("WrongCluster", new RegExp(`${hexOf(clusterId)}, expected was 1`)));
    await startBackup({ ...task, source: { ...task.source, clusterID: hexOf(clusterId) } }).done;
  });

  test("a cluster without a quorum cannot be backed up", async () => {
    const [last, ...others] = etcd.members as [EtcdMember, EtcdMember, EtcdMember];
    await Promise.all(others.map((member) => member.kill()));
    await until("it knows no leader", async () => {
      const status = await etcd.client.probe(last.endpoint, options);
      return status.is === "present" && status.value.leaderId === undefined;
    });
    await assert.rejects(startBackup(taskFrom(etcd.members)).done, failed("NoQuorum"));
  });
});
