import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { AgentError } from "#agent/error.ts";
import { systemClock } from "#base/clock.ts";
import { PREFIX, type Replica, startArchiver, startReplica, type TestArchiver } from "#kit/etcd/changes.ts";
import { ETCD_VERSIONS, neverAborted, type RunningEtcd, startEtcd, until } from "#kit/etcd/etcd.ts";
import { EtcdUser, randomFrom, randomStep } from "#kit/etcd/etcd-history.ts";
import { backupTask, startBackup, TestVolume, urlOf } from "#kit/snapshots/backup.ts";

// Archivers of a real etcd: it compacts changes that they have not read, and serves two of them at once.

const options = { signal: neverAborted, deadlineMs: 20_000 };

const objectsOf = ({ progress }: TestArchiver) => progress?.objects ?? 0;

describe.each(ETCD_VERSIONS)("archivers of etcd %s", (version) => {
  let volume: TestVolume;
  let etcd: RunningEtcd;
  let user: EtcdUser;
  let url: string;

  beforeAll(async () => {
    volume = new TestVolume();
    etcd = await startEtcd({ version, members: 1 });
    url = urlOf(etcd.members[0]!);
    user = new EtcdUser(url);
  });
  afterAll(async () => {
    user[Symbol.dispose]();
    volume[Symbol.dispose]();
    await etcd.stop();
  });

  const random = randomFrom(11);
  const steps = async (count: number) => {
    for (let step = 0; step < count; step++) await randomStep(user, random, step);
    return await user.revision();
  };
  const hashOf = async (of: RunningEtcd, revision: number) =>
    (await of.client.hashKv(of.members[0]!.endpoint, { ...options, revision })).hash;
  const replayed = async (from: TestVolume, revision: number, then: (replica: Replica) => Promise<void>) => {
    const replica = await startReplica(version, from);
    try {
      await replica.replay({ revision: String(revision) });
      await then(replica);
    } finally {
      await replica.stop();
    }
  };
  /** Compares the data by etcd's own hash. */
  const isSame = async (replica: Replica, revision: number) => {
    assert.equal(await hashOf(replica.etcd, revision), await hashOf(etcd, revision));
  };

  test("two archivers running at once store every revision exactly once", async () => {
    await steps(10);
    const archivers = [startArchiver(volume, [url]), startArchiver(volume, [url])];
    await until("both follow", () => Promise.resolve(archivers.every(({ progress }) => progress !== undefined)));
    await startBackup(backupTask(volume, [url])).done;
    const rounds = async (count: number) => {
      for (let round = 0; round < count; round++) {
        await steps(20);
        await systemClock.sleep(700, neverAborted); // An object is a second old when it is stored.
      }
      return await steps(5);
    };
    const half = await rounds(4);
    await Promise.all(archivers.map((archiver) => archiver.stored(half)));
    // The slower one continues alone.
    const [first, second] = archivers.toSorted((a, b) => objectsOf(b) - objectsOf(a)) as [TestArchiver, TestArchiver];
    const before = objectsOf(second);
    assert.equal((await first.stop()).reason, "Stopped");
    const last = await rounds(2);
    await second.stored(last);
    assert.ok(objectsOf(second) > before, "the other archiver continues");
    assert.equal((await second.stop()).reason, "Stopped");
    for (const { progress } of archivers) assert.equal(progress?.gaps, 0);
    assert.equal(first.progress?.from, second.progress?.from);
    const stored = volume.keys.filter((key) => key.endsWith(".changes"));
    assert.equal(stored.length, objectsOf(first) + objectsOf(second));
    await replayed(volume, last, (replica) => isSame(replica, last));
  });

  test("changes that are compacted while no archiver runs leave a gap in the archive until a later backup", async () => {
    const before = await user.revision();
    const compacted = (await steps(40)) - 5;
    await user.compact(compacted);
    const archiver = startArchiver(volume, [url]);
    await until("it has found the gap", () => Promise.resolve(archiver.progress?.gaps === 1));
    assert.ok(BigInt(archiver.progress?.from ?? 0) > BigInt(before) + 1n);
    assert.ok(BigInt(archiver.progress?.from ?? 0) <= BigInt(compacted) + 1n);
    using later = new TestVolume();
    await startBackup(backupTask(later, [url])).done;
    const last = await steps(20);
    await archiver.stored(last);
    assert.equal((await archiver.stop()).reason, "Stopped");
    await assert.rejects(
      replayed(volume, last, () => Promise.resolve()),
      (thrown) => thrown instanceof AgentError && thrown.reason === "ArchiveGap" && /Compacted/.test(thrown.message),
    );
    cpSync(join(volume.path, PREFIX), join(later.path, PREFIX), { recursive: true });
    await replayed(later, last, (replica) => isSame(replica, last));
  });
});
