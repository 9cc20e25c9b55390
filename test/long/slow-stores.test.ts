import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { eventually } from "#kit/e2e/e2e.ts";
import { fill } from "#kit/e2e/fill.ts";
import { expectPromised, LoadedCluster } from "#kit/e2e/loaded-cluster.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";
import { type SlowProxy, startSlowProxy } from "#kit/servers/slow-proxy.ts";
import { S3_ACCESS, startVersitygw, type Versitygw } from "#kit/servers/versitygw.ts";
import { etcdTool } from "#kit/snapshots/backup.ts";
import type { KubeList, Pod } from "#kube/kinds.ts";

// A gigabyte is backed up while clients write: to a slow store, and to one that is away for two minutes. The cluster has
// one member, which sends the snapshot and takes the writes.

/** This machine's address as pods see it: the first node's gateway. */
const HERE = "10.88.1.1";
const MEGABYTES = 1_100;
const SLOW_BYTES_PER_SECOND = 5_000_000;
/** How many bytes are sent before the store is away. */
const MID_STREAM = 300_000_000;
const AWAY_MS = 120_000;
/** Enough for the data at the slow rate, on a busy machine. */
const STORED_MS = 600_000;

let cluster: LoadedCluster;
let backups: UserBackups;
let s3: Versitygw;
let way: SlowProxy;

beforeAll(async () => {
  cluster = await LoadedCluster.start("slow-stores", { replicas: 1 });
  backups = new UserBackups(cluster);
  s3 = await startVersitygw();
  s3.bucket("backups");
  way = await startSlowProxy(s3.port, "0.0.0.0");
  await backups.secret("s3", { AWS_ACCESS_KEY_ID: S3_ACCESS.id, AWS_SECRET_ACCESS_KEY: S3_ACCESS.secret });
  await fill(cluster, MEGABYTES);
});
afterAll(async () => {
  await way?.stop();
  await s3?.stop();
  await cluster?.[Symbol.asyncDispose]();
});

async function backUp(name: string): Promise<void> {
  const endpoint = `http://${HERE}:${way.port}`;
  const credentials = { secretName: "s3" };
  await backups.backUp(name, {
    source: { cluster: { name: cluster.name } },
    destination: { s3: { bucket: "backups", endpoint, region: "us-east-1", pathStyle: true, credentials } },
  });
}

/** Expects that the first pod stored the complete object, which is valid for etcd's own tool. */
async function expectStored(name: string): Promise<void> {
  const { status } = await backups.until(name, "Completed", STORED_MS);
  const file = join(s3.root, "backups", status?.objectKey ?? "");
  expect([statSync(file).size, existsSync(`${file}.manifest.json`)]).toEqual([status?.object?.bytes, true]);
  expect(status?.object?.bytes).toBeGreaterThan(1024 ** 3);
  await etcdTool(DEFAULT_VERSION as "3.6.16", "etcdutl", "snapshot", "status", file);
  const { items } = await cluster.json<KubeList<Pod>>("get", "pods", "-l", `etcd.improbable.io/backup-name=${name}`);
  expect(items).toHaveLength(1);
}

test("a fast backup disturbs no client", { timeout: STORED_MS }, async () => {
  const felt = await cluster.feltDuring("a fast backup", async () => {
    await backUp("fast");
    await expectStored("fast");
  });
  expectPromised(felt);
});

test("a backup at five megabytes per second disturbs no client", { timeout: STORED_MS }, async () => {
  way.slowTo(SLOW_BYTES_PER_SECOND);
  const felt = await cluster.feltDuring("a slow backup", async () => {
    await backUp("slow");
    await expectStored("slow");
  });
  way.slowTo(undefined);
  expect(felt.seconds).toBeGreaterThan(30);
  expectPromised(felt);
});

test("a store that is away for two minutes costs no attempt and disturbs no client", {
  timeout: STORED_MS,
}, async () => {
  const before = way.sentBytes;
  // Slow enough that the store certainly lacks a part of the data when it leaves.
  way.slowTo(10 * SLOW_BYTES_PER_SECOND);
  const felt = await cluster.feltDuring("a store that is away", async () => {
    await backUp("away");
    await eventually(async () => expect(way.sentBytes - before).toBeGreaterThan(MID_STREAM));
    await way.leave();
    way.slowTo(undefined);
    await sleep(AWAY_MS);
    await way.comeBack();
    await expectStored("away");
  });
  expectPromised(felt);
  await cluster.end();
});
