import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { readKey } from "#agent/archive/key.ts";
import { readManifest } from "#agent/archive/manifest.ts";
import { unpacked } from "#agent/archive/pack.ts";
import { reportIn } from "#agent/report.ts";
import { runAgent } from "#agent/run.ts";
import type { AgentTask } from "#agent/task.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { hexOf } from "#etcd/types.ts";
import { ETCD_VERSIONS, neverAborted, planEtcd, type RunningEtcd, startEtcd, untilLed } from "#kit/etcd/etcd.ts";
import { backupTask, etcdTool, load, TestVolume, urlOf } from "#kit/snapshots/backup.ts";

const options = { signal: neverAborted };

async function run(task: AgentTask, volume: TestVolume) {
  const reportFile = join(volume.path, ".report");
  const told = await runAgent({
    task: JSON.stringify(task),
    reportFile,
    progressPort: 0,
    signal: neverAborted,
    clock: systemClock,
    log: silentLog,
  });
  assert.deepEqual(reportIn(readFileSync(reportFile, "utf8")), told);
  return told;
}

describe.each(ETCD_VERSIONS)("a backup of etcd %s", (version) => {
  let etcd: RunningEtcd;
  let revision: number;
  beforeAll(async () => {
    etcd = await startEtcd({ version, members: 3 });
    revision = await load(etcd, 4);
  });
  afterAll(() => etcd.stop());

  const packings = [
    ["as etcd sent it", "None", false],
    ["compressed", "Zstd", false],
    ["compressed and encrypted", "Zstd", true],
  ] as const;

  test.each(packings)("%s is stored and unpacked without a difference", async (_name, compression, isEncrypted) => {
    using volume = new TestVolume();
    const keyFile = join(volume.path, ".key");
    writeFileSync(keyFile, randomBytes(32));
    const key = isEncrypted ? readKey(readFileSync(keyFile), "") : undefined;
    const task = backupTask(volume, etcd.members.map(urlOf), {
      compression,
      ...(key === undefined ? {} : { encryption: { keyFile, keyID: key.id } }),
    });
    const report = await run(task, volume);
    assert.ok(report.ok && report.kind === "backup", JSON.stringify(report));

    assert.deepEqual(volume.keys, [task.key, `${task.key}.manifest.json`]);
    const file = join(volume.path, task.key);
    const manifest = readManifest(readFileSync(`${file}.manifest.json`, "utf8"), task.key);
    const members = await Promise.all(etcd.members.map(({ endpoint }) => etcd.client.status(endpoint, options)));
    const read = members.find(({ memberId }) => hexOf(memberId) === report.object.memberID);
    assert.ok(read !== undefined && read.leaderId !== read.memberId, "a follower was read");
    assert.equal(manifest.cluster.id, hexOf(read.clusterId));
    assert.equal(manifest.etcdVersion, version);
    assert.ok(Number(manifest.revision) >= revision);
    const { hash, compactRevision } = await etcd.client.hashKv(etcd.members[0]!.endpoint, { ...options, revision });
    assert.deepEqual(manifest.hashKV, { hash, compactRevision: String(compactRevision) });
    assert.equal(manifest.keys, 5);
    assert.equal(manifest.authEnabled, false);
    assert.equal(report.object.storedBytes, readFileSync(file).length);

    const snapshot = join(volume.path, ".snapshot");
    const parts: Uint8Array[] = [];
    for await (const part of unpacked(createReadStream(file), { compression, key }, manifest)) parts.push(part);
    writeFileSync(snapshot, Buffer.concat(parts));
    assert.equal(createHash("sha256").update(readFileSync(snapshot)).digest("hex"), report.object.sha256);
    const status = JSON.parse(await etcdTool(version, "etcdutl", "snapshot", "status", snapshot, "--write-out=json"));
    assert.ok(status.revision >= revision && status.totalKey >= 5, JSON.stringify(status));

    // A second pod of the same Job finds the work done.
    assert.deepEqual(await run(task, volume), report);
    // The object of a different backup is left alone.
    const other = await run({ ...task, backupUID: "another" }, volume);
    assert.ok(!other.ok && other.reason === "ObjectExists", JSON.stringify(other));

    const { destination, backupUID } = task;
    const deletion = { kind: "delete", destination, key: task.key } as const;
    assert.deepEqual(await run({ ...deletion, backupUID: "another" }, volume), {
      ok: true,
      kind: "delete",
      deleted: false,
    });
    assert.equal(volume.keys.length, 2);
    assert.deepEqual(await run({ ...deletion, backupUID }, volume), { ok: true, kind: "delete", deleted: true });
    assert.deepEqual(volume.keys, []);
  });

  test("etcdutl restores an uncompressed, unencrypted object with all its keys", async () => {
    using volume = new TestVolume();
    const task = backupTask(volume, etcd.members.map(urlOf));
    assert.ok((await run(task, volume)).ok);
    const restored = await planEtcd({ version, members: 1 });
    try {
      const member = restored.members[0]!;
      const { initialCluster, token } = restored;
      await etcdTool(
        version,
        "etcdutl",
        ...[
          "snapshot",
          "restore",
          join(volume.path, task.key),
          `--data-dir=${member.plan.dir}`,
          `--name=${member.plan.name}`,
        ],
        ...[`--initial-cluster=${initialCluster}`, `--initial-advertise-peer-urls=${member.peerUrl}`],
        `--initial-cluster-token=${token}`,
      );
      await member.start({ initialCluster, state: "existing" });
      await untilLed(restored.client, member);
      const found = await restored.client.get(member.endpoint, "small", options);
      assert.equal(new TextDecoder().decode(found?.value), "yes");
      assert.equal(found?.modRevision, revision);
    } finally {
      await restored.stop();
    }
  });
});
