import { afterAll, beforeAll, expect, test } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { NO_TLS } from "#api/tls.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";

// A person deletes all keys, an hour after the last backup. A restore brings back the state just before.

const KEYS = Array.from({ length: 20 }, (_, n) => `key-${n}`);
/** Enough for pods that start one after another, on a busy machine. */
const DONE_MS = 240_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("point-in-time");
  cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3 });
  await new UserBackups(cluster).claim();
  await cluster.untilReady();
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

async function schedule(): Promise<EtcdBackupSchedule> {
  return await cluster.json<EtcdBackupSchedule>("get", "etcdbackupschedule", "hourly");
}

async function revision(): Promise<number> {
  const text = await cluster.etcdctl("my-etcd-0", "get", "key-0", "-w", "json");
  return (JSON.parse(text) as { header: { revision: number } }).header.revision;
}

/** Waits until the archive contains the current revision. */
async function untilArchived(): Promise<void> {
  const now = await revision();
  await eventually(async () => {
    const { status } = await schedule();
    if (Number(status?.archive?.revision ?? 0) < now)
      throw new Error(`${now} is not archived: ${JSON.stringify(status)}`);
  }, 120_000);
}

test("a schedule with an archive creates a first backup and then archives every change", async () => {
  await cluster.make("EtcdBackupSchedule", "hourly", {
    schedule: "0 0 1 1 *",
    archive: { maxAge: "2s" },
    backupTemplate: {
      spec: { source: { cluster: { name: "my-etcd" } }, destination: { volume: { claimName: "backups" } } },
    },
  });
  await eventually(async () => {
    const { status } = await schedule();
    const from = status?.archive?.from;
    const held = status?.lastSuccessful?.revision;
    if (from === undefined || held === undefined || BigInt(held) < BigInt(from) - 1n)
      throw new Error(`no backup reaches the start of the archive: ${JSON.stringify(status)}`);
  }, DONE_MS);
  for (const key of KEYS) await cluster.put("my-etcd-0", key, `value of ${key}`);
  await untilArchived();
  const { status } = await cluster.json<EtcdBackup>("get", "etcdbackup", "hourly-changes");
  expect(status?.conditions?.find(({ type }) => type === "Complete")?.reason).toBe("Archiving");
});

test("a restore to the revision before a deletion of all keys restores all keys in another cluster", async () => {
  const before = await revision();
  await cluster.etcdctl("my-etcd-0", "del", "", "--from-key");
  await cluster.put("my-etcd-0", "after", "the deletion");
  expect(await cluster.read("my-etcd-0", "key-0")).toBe("");
  await untilArchived();
  const backupName = (await schedule()).status?.lastSuccessful?.name;
  await cluster.make("EtcdRestore", "back", {
    source: { backupName },
    until: { revision: String(before) },
    clusterTemplate: { clusterName: "again", spec: { replicas: 3, version: DEFAULT_VERSION, tls: NO_TLS } },
  });
  await eventually(async () => {
    const { status } = await cluster.json<EtcdRestore>("get", "etcdrestore", "back");
    if (status?.phase !== "Completed") throw new Error(`it is not completed: ${JSON.stringify(status)}`);
  }, DONE_MS);
  const again = new UserCluster(namespace.name, "again");
  for (const [n, key] of KEYS.entries()) expect(await again.read(`again-${n % 3}`, key)).toBe(`value of ${key}`);
  expect(await again.read("again-0", "after")).toBe("");
  const hashes = await Promise.all(
    [0, 1, 2].map(async (n) => {
      const text = await again.etcdctl(`again-${n}`, "endpoint", "hashkv", "-w", "json");
      return (JSON.parse(text) as [{ HashKV: { hash: number } }])[0].HashKV.hash;
    }),
  );
  expect(new Set(hashes).size).toBe(1);
});

test("a restore to a time after the archive's end fails and names the last archived revision", async () => {
  const backupName = (await schedule()).status?.lastSuccessful?.name;
  await cluster.make("EtcdRestore", "early", {
    source: { backupName },
    until: { time: "2099-01-01T00:00:00Z" },
    clusterTemplate: { clusterName: "early", spec: { replicas: 1, version: DEFAULT_VERSION, tls: NO_TLS } },
  });
  await eventually(async () => {
    const { status } = await cluster.json<EtcdRestore>("get", "etcdrestore", "early");
    expect(status?.conditions?.find(({ type }) => type === "Failed")).toMatchObject({
      status: "True",
      reason: "ArchiveGap",
      message: expect.stringContaining("the archive ends with revision"),
    });
  }, DONE_MS);
});
