import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { SNAPSHOT_FILE } from "#agent/task.ts";
import { startArchiver, startReplica, startRestored } from "#kit/etcd/changes.ts";
import { ETCD_VERSIONS, neverAborted, type RunningEtcd, startEtcd, until } from "#kit/etcd/etcd.ts";
import { EtcdUser } from "#kit/etcd/etcd-history.ts";
import { backupTask, etcdTool, load, startBackup, TestVolume, urlOf } from "#kit/snapshots/backup.ts";

const options = { signal: neverAborted, deadlineMs: 20_000 };
const QUOTA_BYTES = 16 * 1024 ** 2;
const VALUE = "a value of the test, ".repeat(50_000);

/** Writes until etcd refuses because the alarm NOSPACE is raised. */
async function fill({ client, members }: RunningEtcd): Promise<void> {
  for (let n = 0; n < 100; n++) {
    try {
      await client.put(members[0]!.endpoint, "big", VALUE, options);
    } catch (thrown) {
      assert.match((thrown as Error).message, /database space exceeded/);
      return;
    }
  }
  assert.fail("the quota is not reached");
}

describe.each(ETCD_VERSIONS)("the snapshot of a full database of etcd %s", (version) => {
  const volume = new TestVolume();
  let etcd: RunningEtcd;
  let last: number;

  beforeAll(async () => {
    etcd = await startEtcd({ version, members: 1, extraArgs: [`--quota-backend-bytes=${QUOTA_BYTES}`] });
    const { endpoint } = etcd.members[0]!;
    const archiver = startArchiver(volume, [urlOf(etcd.members[0]!)]);
    await until("the archiver follows", async () => archiver.progress !== undefined);
    await fill(etcd);
    await startBackup(backupTask(volume, [urlOf(etcd.members[0]!)])).done;
    // Compact, defragment and disarm the alarm, as a person would, so that writes continue.
    const revision = await etcd.client.revision(endpoint, options);
    using user = new EtcdUser(urlOf(etcd.members[0]!));
    await user.compact(Number(revision));
    await etcdTool(version, "etcdctl", `--endpoints=${urlOf(etcd.members[0]!)}`, "defrag");
    for (const alarm of await etcd.client.alarms(endpoint, options)) {
      await etcd.client.disarmAlarm(endpoint, alarm, options);
    }
    last = await user.put("after", "the alarm");
    await archiver.stored(last);
    await archiver.stop();
  });
  afterAll(async () => {
    volume[Symbol.dispose]();
    await etcd.stop();
  });

  test("takes the changes after it, and the result has no alarm", async () => {
    const replica = await startReplica(version, volume);
    try {
      const replayed = await replica.replay({ revision: String(last) });
      assert.equal(replayed.revision, String(last));
      const restored = await startRestored(version, join(replica.workDir, SNAPSHOT_FILE));
      try {
        assert.deepEqual(await restored.client.alarms(restored.members[0]!.endpoint, options), []);
      } finally {
        await restored.stop();
      }
    } finally {
      await replica.stop();
    }
  });

  test("keeps the alarm of a member that the restored cluster does not have, until it is disarmed", async () => {
    const file = join(volume.path, ".snapshot");
    await copyFile(join(volume.path, "backups/default/db.db"), file);
    const restored = await startRestored(version, file);
    try {
      const { endpoint } = restored.members[0]!;
      const alarms = await restored.client.alarms(endpoint, options);
      assert.deepEqual(
        alarms.map(({ type }) => type),
        ["NOSPACE"],
      );
      // The operator disarms alarms of members that are not in the cluster.
      const { memberId } = await restored.client.status(endpoint, options);
      assert.notEqual(alarms[0]!.memberId, memberId);
      await assert.rejects(restored.client.put(endpoint, "k", "v", options), /database space exceeded/);
      await restored.client.disarmAlarm(endpoint, alarms[0]!, options);
      await restored.client.put(endpoint, "k", "v", options);
    } finally {
      await restored.stop();
    }
  });
});

test.each(["3.6.16", "3.7.3"] as const)("a slow store does not fill a database of etcd %s", async (version) => {
  const quota = 256 * 1024 ** 2; // bbolt grows the file by 16 MiB at once
  const etcd = await startEtcd({ version, members: 1, extraArgs: [`--quota-backend-bytes=${quota}`] });
  using volume = new TestVolume();
  try {
    const { endpoint } = etcd.members[0]!;
    const url = urlOf(etcd.members[0]!);
    await load(etcd, 24);
    const backup = startBackup(backupTask(volume, [url]), { afterBytes: 1_000_000 });
    await backup.held;
    let isEnded = false;
    const ended = assert
      .rejects(backup.done, /the object store is too slow\. .* grew from \d+ to \d+ bytes/)
      .finally(() => {
        isEnded = true;
      });
    // The writer stops above 80 % of the quota: the rest would be full before the member is asked again.
    while (!isEnded && (await etcd.client.status(endpoint, options)).dbSizeBytes <= quota * 0.8) {
      await etcd.client.put(endpoint, "big/0", VALUE, options);
    }
    await ended;
    await etcd.client.put(endpoint, "after", "the backup", options);
    assert.deepEqual(await etcd.client.alarms(endpoint, options), []);
    backup.resume();
  } finally {
    await etcd.stop();
  }
});
