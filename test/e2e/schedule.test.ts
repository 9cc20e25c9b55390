import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SCHEDULE_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule, EtcdBackupScheduleSpec } from "#api/v1beta1/schedule.ts";
import { eventually, instance, kubectl, testNamespace, UserCluster, type Written } from "#kit/e2e/e2e.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";

// Schedules as people use them: backups are made on time, retention deletes old ones with their objects, and the others
// stay.

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("schedule");
  cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 1 });
  await new UserBackups(cluster).claim();
  await cluster.untilReady();
});
afterAll(async () => {
  await namespace?.[Symbol.asyncDispose]();
});

async function schedule(spec: Written<EtcdBackupScheduleSpec>): Promise<void> {
  const backupTemplate = {
    spec: {
      source: { cluster: { name: "my-etcd" } },
      destination: { volume: { claimName: "backups", path: "often" } },
    },
  };
  await cluster.make("EtcdBackupSchedule", "often", { backupTemplate, ...spec });
}

async function read(): Promise<EtcdBackupSchedule> {
  return await cluster.json<EtcdBackupSchedule>("get", "etcdbackupschedule", "often");
}

/** The schedule's backups, in the order of their due times. */
async function backups(): Promise<readonly EtcdBackup[]> {
  const { items } = await cluster.json<{ items: EtcdBackup[] }>("get", "etcdbackups", "-l", `${SCHEDULE_LABEL}=often`);
  return items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** The keys of all objects on the volume. */
async function objects(): Promise<readonly string[]> {
  const { spec } = await cluster.json<{ spec: { volumeName: string } }>("get", "pvc", "backups");
  const nodes = ["node-1", "node-2", "node-3"].map((node) =>
    join(instance.folder, "nodes", node, "volumes", spec.volumeName),
  );
  const folder = nodes.find((each) => existsSync(join(each, "often")));
  if (folder === undefined) return [];
  const files = readdirSync(join(folder, "often"), { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  return paths.map((path) => path.slice(folder.length + 1)).filter((key) => key.endsWith(".db"));
}

async function untilCompleted(count: number): Promise<readonly EtcdBackup[]> {
  return await eventually(async () => {
    const completed = (await backups()).filter(({ status }) => status?.phase === "Completed");
    expect(completed.length).toBeGreaterThanOrEqual(count);
    return completed;
  }, 180_000);
}

test("a backup is created at once and at each due time, and none is deleted without a retention", async () => {
  await schedule({ schedule: "@every 10s", immediate: true });
  const [first] = await untilCompleted(3);
  const { metadata, status } = await read();
  const at = (metadata.creationTimestamp ?? "").replaceAll(/[-:Z]/g, "").replace("T", "-");
  expect(first?.metadata.name).toBe(`often-${at}`);
  expect(status?.runs).toBeGreaterThanOrEqual(3);
  // On a busy machine, a backup may take longer than until the run after the next one, and is overdue then.
  await eventually(async () => {
    const { conditions = [] } = (await read()).status ?? {};
    const told = conditions.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);
    expect(told).toContain("BackupReady True BackupCompleted");
  });
  const { stdout: lines } = await kubectl.run(["get", "etcdbackupschedules", "-n", namespace.name]);
  expect(lines).toMatch(/NAME +SCHEDULE +SUSPEND +LAST GOOD +NEXT +STATUS +AGE/);
});

test("the cluster's status reports its backups", async () => {
  await eventually(async () => {
    const { status } = await cluster.get();
    expect(status?.conditions?.find(({ type }) => type === "BackupReady")).toMatchObject({ status: "True" });
    expect(status?.backup?.lastSuccessful?.name).toMatch(/^often-/);
  });
});

test("a suspended schedule creates no backups, and a dry run lists the backups that a retention would delete", async () => {
  await schedule({ schedule: "@every 10s", suspend: true });
  const made = await eventually(async () => {
    const all = await backups();
    expect(all.every(({ status }) => status?.phase === "Completed")).toBe(true);
    expect((await read()).status?.conditions?.find(({ type }) => type === "Ready")?.reason).toBe("Suspended");
    return all;
  }, 120_000);
  const dryRun = 'etcd.improbable.io/dry-run={"retention":{"keepLast":1}}';
  await kubectl.run(["annotate", "etcdbackupschedule", "often", dryRun, "-n", namespace.name]);
  const expected = made
    .slice(0, -1)
    .map(({ metadata, status }) => ({ name: metadata.name, objectURL: status?.objectURL }));
  await eventually(async () => expect((await read()).status?.dryRun).toEqual({ deletes: expected }));
  expect((await backups()).length).toBe(made.length);
  expect((await objects()).length).toBe(made.length);
});

test("a retention deletes older backups with their objects and keeps the last completed backup", async () => {
  const latest = (await backups()).at(-1);
  await schedule({ schedule: "@every 10s", suspend: true, retention: { keepLast: 1 } });
  await eventually(async () => {
    expect((await backups()).map(({ metadata }) => metadata.name)).toEqual([latest?.metadata.name]);
    expect(await objects()).toEqual([latest?.status?.objectKey]);
  }, 240_000);
  expect(latest?.spec.deletionPolicy).toBe("Retain");
});

test("backups stay when their schedule is deleted", async () => {
  const before = await backups();
  await kubectl.run(["delete", "etcdbackupschedule", "often", "-n", namespace.name]);
  expect((await backups()).map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
  await eventually(async () => {
    const condition = (await cluster.get()).status?.conditions?.find(({ type }) => type === "BackupReady");
    expect(condition).toMatchObject({ status: "False", reason: "NoSchedule" });
  });
});
