import assert from "node:assert/strict";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { factsOf } from "#agent/bbolt/snapshot-facts.ts";
import { SNAPSHOT_FILE } from "#agent/task.ts";
import { startArchiver, startReplica, startRestored } from "#kit/etcd/changes.ts";
import { ETCD_VERSIONS, neverAborted, type RunningEtcd, startEtcd, until } from "#kit/etcd/etcd.ts";
import { EtcdUser, randomFrom, randomStep } from "#kit/etcd/etcd-history.ts";
import { backupTask, etcdTool, startBackup, TestVolume, urlOf } from "#kit/snapshots/backup.ts";

const STEPS = 120;
const options = { signal: neverAborted, deadlineMs: 20_000 };

describe.each(ETCD_VERSIONS)("the archived history of etcd %s", (version) => {
  const volume = new TestVolume();
  /** Revisions after each step that follows the backup. */
  const revisions: number[] = [];
  let etcd: RunningEtcd;
  let user: EtcdUser;
  let compacted: number;
  let beforeDeletion: number;
  let expiredAt: number;
  let lastLease: bigint;
  let keysBefore: number;

  beforeAll(async () => {
    etcd = await startEtcd({ version, members: 1 });
    user = new EtcdUser(urlOf(etcd.members[0]!));
    const random = randomFrom(Number(version.replaceAll(".", "")));
    for (let step = 0; step < 20; step++) await randomStep(user, random, step);
    // Enabling auth once makes etcd store whether it is enabled.
    const { endpoint } = etcd.members[0]!;
    await etcd.client.userAdd(endpoint, "root", "secret", options);
    await etcd.client.userGrantRole(endpoint, "root", "root", options);
    await etcd.client.authEnable(endpoint, options);
    const asRoot = [`--endpoints=${urlOf(etcd.members[0]!)}`, "--user=root:secret", "--command-timeout=30s"];
    await etcdTool(version, "etcdctl", ...asRoot, "auth", "disable");
    const archiver = startArchiver(volume, [urlOf(etcd.members[0]!)]);
    await until("the archiver follows", async () => archiver.progress !== undefined);
    for (let step = 20; step < 30; step++) await randomStep(user, random, step);
    await startBackup(backupTask(volume, [urlOf(etcd.members[0]!)])).done;
    for (let step = 30; step < STEPS; step++) revisions.push(await randomStep(user, random, step));
    // A lease with several keys expires by itself.
    const lease = await user.grant(2);
    const revision = await user.change({ some: "thing" });
    for (let n = 0; n < 5; n++) await user.put(`expiring/${n}`, "soon", lease);
    await until("the lease has expired", async () => (await user.revision()) > revision + 5);
    expiredAt = await user.revision();
    assert.equal(expiredAt, revision + 6);
    compacted = revisions[20]!;
    await user.compact(compacted);
    lastLease = await user.grant(1_000);
    beforeDeletion = await user.put("bound", "to a lease", lastLease);
    keysBefore = await user.keys();
    await user.deleteAll();
    await user.put("after", "the deletion");
    await archiver.stored(await user.revision());
    assert.equal((await archiver.stop()).reason, "Stopped");
  });
  afterAll(async () => {
    user[Symbol.dispose]();
    volume[Symbol.dispose]();
    await etcd.stop();
  });

  /** A member's hash of its keys up to a revision, including the history that is not compacted. */
  const hashOf = async (of: RunningEtcd, revision: number) =>
    (await of.client.hashKv(of.members[0]!.endpoint, { ...options, revision })).hash;

  test("can be restored to any revision, with the same keys and revision numbers", async () => {
    const random = randomFrom(7);
    const some = Array.from({ length: 2 }, () => 21 + random(revisions.length - 21));
    for (const revision of [...some.map((at) => revisions[at]!), expiredAt]) {
      const replica = await startReplica(version, volume);
      using other = new EtcdUser(urlOf(replica.etcd.members[0]!));
      try {
        const replayed = await replica.replay({ revision: String(revision) });
        assert.equal(replayed.revision, String(revision));
        assert.equal(await other.revision(), revision);
        await other.compact(compacted);
        assert.equal(await hashOf(replica.etcd, revision), await hashOf(etcd, revision), `at ${revision}`);
      } finally {
        await replica.stop();
      }
    }
  });

  test("is restored with auth enabled when the backup was made with auth enabled", async () => {
    const replica = await startReplica(version, volume, { isAuthLifted: true });
    try {
      await replica.replay({ revision: String(beforeDeletion) });
      const file = join(replica.workDir, SNAPSHOT_FILE);
      assert.equal((await factsOf(file)).authEnabled, true);
      // etcdutl verifies the checksum of the file.
      await etcdTool(version, "etcdutl", "snapshot", "restore", file, `--data-dir=${join(replica.workDir, "data")}`);
    } finally {
      await replica.stop();
    }
  });

  test("can be restored to the revision before all keys were deleted, with leases", async () => {
    const replica = await startReplica(version, volume);
    try {
      await replica.replay({ revision: String(beforeDeletion) });
      const restored = await startRestored(version, join(replica.workDir, SNAPSHOT_FILE));
      using other = new EtcdUser(urlOf(restored.members[0]!));
      try {
        assert.equal(await other.revision(), beforeDeletion);
        assert.equal(await other.keys(), keysBefore);
        assert.deepEqual(await other.lease(lastLease), { ttl: 1_000, keys: ["bound"] });
        await other.compact(compacted);
        assert.equal(await hashOf(restored, beforeDeletion), await hashOf(etcd, beforeDeletion));
      } finally {
        await restored.stop();
      }
    } finally {
      await replica.stop();
    }
  });
});
