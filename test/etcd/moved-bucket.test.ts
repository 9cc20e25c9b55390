import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { readKey } from "#agent/archive/key.ts";
import type { Manifest } from "#agent/archive/manifest.ts";
import type { Line } from "#agent/changes/line.ts";
import { listBackups } from "#agent/list.ts";
import { REPLAY_ETCD_FLAGS, SNAPSHOT_FILE } from "#agent/task.ts";
import { PREFIX, startArchiver, startRestored } from "#kit/etcd/changes.ts";
import { neverAborted, type RunningEtcd, startEtcd } from "#kit/etcd/etcd.ts";
import { EtcdUser, randomFrom, randomStep } from "#kit/etcd/etcd-history.ts";
import { credentialsDir, removeTemporaryDirs, temporaryDir } from "#kit/servers/store-server.ts";
import { S3_ACCESS, startVersitygw, type Versitygw } from "#kit/servers/versitygw.ts";
import { backupTask, etcdTool, TestVolume, urlOf } from "#kit/snapshots/backup.ts";
import { fetchTask, runTask } from "#kit/snapshots/restore.ts";
import type { StoreLocation } from "#objectstore/location.ts";
import { openStore } from "#objectstore/open.ts";

// A folder with an encrypted backup and encrypted changes is copied below another prefix. As with common tools, the
// copy has the content of the files and not the metadata of the objects.

const VERSION = "3.6.16";
const BACKUP = "backups/default/db.db";
const COPY = "copies/of-2026";

let volume: TestVolume;
let etcd: RunningEtcd;
let store: Versitygw;
let encryption: { keyFile: string };
let last: number;

beforeAll(async () => {
  volume = new TestVolume();
  etcd = await startEtcd({ version: VERSION, members: 1 });
  store = await startVersitygw();
  encryption = { keyFile: join(temporaryDir("key"), "key") };
  writeFileSync(encryption.keyFile, randomBytes(32).toString("hex"));
  const urls = [urlOf(etcd.members[0]!)];
  using user = new EtcdUser(urls[0]!);
  const random = randomFrom(5);
  const steps = async (count: number) => {
    for (let step = 0; step < count; step++) await randomStep(user, random, step);
    return await user.revision();
  };
  await steps(20);
  const archiver = startArchiver(volume, urls, { key: readKey(readFileSync(encryption.keyFile), "the key") });
  const report = await runTask(backupTask(volume, urls, { compression: "Zstd", encryption }), volume);
  assert.ok(report.ok, JSON.stringify(report));
  // Several objects: each refers to the one before it.
  for (let round = 0; round < 3; round++) {
    last = await steps(15);
    await archiver.stored(last);
  }
  await archiver.stop();
  assert.ok(volume.keys.filter((key) => key.startsWith(`${PREFIX}/`)).length > 3);
});

afterAll(async () => {
  volume[Symbol.dispose]();
  await etcd.stop();
  await store.stop();
  removeTemporaryDirs();
});

/** Copies the folder of the backup below another prefix. */
function copyTo(root: string): void {
  mkdirSync(join(root, dirname(COPY)), { recursive: true });
  cpSync(join(volume.path, dirname(BACKUP)), join(root, COPY), { recursive: true });
}

const places: readonly [string, () => { from: StoreLocation; credentialsDir?: string }][] = [
  [
    "another volume",
    () => {
      const path = temporaryDir("copy");
      copyTo(path);
      return { from: { store: "volume", path } };
    },
  ],
  [
    "a bucket of another store",
    () => {
      const bucket = store.bucket("elsewhere");
      copyTo(join(store.root, bucket));
      const endpoint = `http://127.0.0.1:${store.port}`;
      return {
        from: { store: "s3", bucket, endpoint, region: "us-east-1", pathStyle: true },
        credentialsDir: credentialsDir({ AWS_ACCESS_KEY_ID: S3_ACCESS.id, AWS_SECRET_ACCESS_KEY: S3_ACCESS.secret }),
      };
    },
  ],
];

test.each(places)(
  "a backup and its changes that were copied to %s can be restored to any revision",
  async (_, copy) => {
    const place = { ...copy(), key: `${COPY}/db.db`, encryption };
    const task = fetchTask(volume, place.key, temporaryDir("data"), place);
    const fetched = await runTask(task, volume);
    assert.ok(fetched.ok && fetched.kind === "fetch" && fetched.snapshot.hasManifest, JSON.stringify(fetched));
    const listed = await openStore(place.from, place);
    const { lines } = await listBackups(listed, "", neverAborted);
    await listed.close();
    assert.match(lines[1] ?? "", /^2\S+ +whole +default\/external +3\.6\.16 .* [0-9a-f]{8} +copies\/of-2026\/db\.db$/);
    assert.match(lines.at(-1) ?? "", /^copies\/of-2026\/changes\/[0-9a-f]+-0001 /);
    const { workDir } = task;
    const flags = [...REPLAY_ETCD_FLAGS, "--election-timeout=2000"];
    const replica = await startRestored(VERSION, join(workDir, SNAPSHOT_FILE), flags);
    try {
      const endpoint = urlOf(replica.members[0]!);
      const until = { revision: String(last) };
      const replayed = await runTask(
        { kind: "replay", ...place, prefix: `${COPY}/changes`, until, endpoint, workDir },
        volume,
      );
      assert.ok(replayed.ok && replayed.kind === "replay", JSON.stringify(replayed));
      assert.equal(replayed.snapshot.revision, String(last));
      const hashOf = async (of: RunningEtcd) =>
        (await of.client.hashKv(of.members[0]!.endpoint, { signal: neverAborted, deadlineMs: 20_000, revision: last }))
          .hash;
      assert.equal(await hashOf(replica), await hashOf(etcd));
    } finally {
      await replica.stop();
    }
  },
);

test("docs/open-backup.mjs opens the snapshot and the archived changes", async () => {
  const opened = (key: string) => {
    const input = readFileSync(join(volume.path, key));
    const { stdout, stderr } = spawnSync(process.execPath, ["docs/open-backup.mjs", encryption.keyFile], { input });
    assert.ok(stdout.length > 0, stderr.toString());
    return stdout;
  };
  const { sha256 } = JSON.parse(readFileSync(join(volume.path, `${BACKUP}.manifest.json`), "utf8")) as Manifest;
  const snapshot = opened(BACKUP);
  assert.equal(createHash("sha256").update(snapshot).digest("hex"), sha256);
  const file = join(temporaryDir("opened"), "snapshot.db");
  writeFileSync(file, snapshot);
  assert.match(await etcdTool(VERSION, "etcdutl", "snapshot", "status", file), /^[0-9a-f]+, \d+, \d+, /);
  const archived = volume.keys.filter((key) => key.endsWith(".changes")).map((key) => opened(key).toString());
  const lines = archived.flatMap((text) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line),
  );
  assert.ok(lines.some((line) => "revision" in line && line.revision === String(last)));
});
