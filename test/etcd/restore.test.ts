import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { readManifest } from "#agent/archive/manifest.ts";
import { factsOf } from "#agent/bbolt/snapshot-facts.ts";
import type { AgentReport } from "#agent/report.ts";
import type { EtcdClient } from "#etcd/client.ts";
import {
  ETCD_VERSIONS,
  type EtcdMember,
  neverAborted,
  planEtcd,
  type RunningEtcd,
  startEtcd,
  until,
  untilLed,
} from "#kit/etcd/etcd.ts";
import { backupTask, etcdTool, load, TestVolume, urlOf } from "#kit/snapshots/backup.ts";
import { BUMP, etcdutlRestore, fetchTask, finishTask, runTask } from "#kit/snapshots/restore.ts";

const options = { signal: neverAborted };

function fetched(report: AgentReport) {
  assert.ok(report.ok && report.kind === "fetch", JSON.stringify(report));
  return report.snapshot;
}

describe.each(ETCD_VERSIONS)("a restore of etcd %s", (version) => {
  let etcd: RunningEtcd;
  let volume: TestVolume;
  let revision: number;
  beforeAll(async () => {
    etcd = await startEtcd({ version, members: 1 });
    volume = new TestVolume();
    await load(etcd, 4);
    // Enough keys that the tree has branches; some are changed, deleted and compacted.
    const { endpoint } = etcd.members[0]!;
    for (let n = 0; n < 500; n++) await etcd.client.put(endpoint, `many/${n % 400}`, `value ${n}`, options);
    revision = await etcd.client.put(endpoint, "last", "yes", options);
    await ctl("del", "last");
    revision++;
  });
  afterAll(async () => {
    volume[Symbol.dispose]();
    await etcd.stop();
  });

  const ctl = async (...args: string[]) =>
    await etcdTool(version, "etcdctl", `--endpoints=${urlOf(etcd.members[0]!)}`, ...args);
  /** All keys and some values. Values of a megabyte are compared by length: etcdctl would print them. */
  const everything = async (client: EtcdClient, member: EtcdMember) => {
    const read = async (...args: string[]) =>
      await etcdTool(version, "etcdctl", `--endpoints=${urlOf(member)}`, "get", ...args);
    const big = await client.get(member.endpoint, "big/3", options);
    return [
      await read("", "--prefix", "--keys-only"),
      await read("many/", "--prefix"),
      big?.value.length,
      big?.modRevision,
    ];
  };
  const save = async (name: string, ...args: string[]) => {
    const path = join(volume.path, name);
    await ctl(...args, "snapshot", "save", path);
    return path;
  };

  test.each([
    ["from an encrypted object with its manifest", true],
    ["from a snapshot of another tool", false],
  ])("restores all data %s, on three members with the same revision", async (_name, isOurs) => {
    const keyFile = join(volume.path, ".key");
    writeFileSync(keyFile, randomBytes(32));
    const key = isOurs ? "ours.db" : "theirs.db";
    const backup = backupTask(volume, [urlOf(etcd.members[0]!)], { key, compression: "Zstd", encryption: { keyFile } });
    if (isOurs) assert.ok((await runTask(backup, volume)).ok);
    else await save(key);

    const restored = await planEtcd({ version, members: 3 });
    try {
      const { initialCluster } = restored;
      for (const member of restored.members) {
        const { dir } = member.plan;
        const task = fetchTask(volume, key, dirname(dir), isOurs ? { encryption: { keyFile } } : {});
        const snapshot = fetched(await runTask(task, volume));
        assert.equal(snapshot.revision, String(revision));
        assert.equal(snapshot.hasManifest, isOurs);
        assert.equal(snapshot.backupUID, isOurs ? backup.backupUID : undefined);
        assert.equal(snapshot.etcdVersion, isOurs ? version : version.replace(/\d+$/, "0"));
        await etcdutlRestore(version, task, member, initialCluster);
        const finish = finishTask(task, dir);
        const { sha256 } = snapshot;
        const done = { ok: true, kind: "finish", revision: String(revision + BUMP), sha256 } as const;
        assert.deepEqual(await runTask(finish, volume), { ...done, moved: true });
        assert.deepEqual(await runTask(finish, volume), { ...done, moved: false });
        assert.ok(!existsSync(task.workDir));
      }
      await Promise.all(restored.members.map((member) => member.start({ initialCluster, state: "existing" })));
      await Promise.all(restored.members.map((member) => untilLed(restored.client, member)));
      for (const member of restored.members) {
        assert.deepEqual(await everything(restored.client, member), await everything(etcd.client, etcd.members[0]!));
      }
      const { endpoint } = restored.members[0]!;
      assert.equal(await restored.client.put(endpoint, "next", "yes", options), revision + BUMP + 1);
      // After the members have started, a late pod of the same Job does no harm.
      const [first] = restored.members;
      const late = await runTask(finishTask(fetchTask(volume, key, dirname(first!.plan.dir)), first!.plan.dir), volume);
      assert.ok(late.ok && late.kind === "finish" && !late.moved);
      assert.ok(!/restored\.json/.test(first!.log), "etcd ignores the marker");
    } finally {
      await restored.stop();
    }
  });

  test("restores alarms of the snapshot's members, and they can be disarmed", async () => {
    const source = etcd.members[0]!;
    const { memberId } = await etcd.client.status(source.endpoint, options);
    const body = JSON.stringify({ action: "ACTIVATE", memberID: String(memberId), alarm: "NOSPACE" });
    const raised = await fetch(`${urlOf(source)}/v3/maintenance/alarm`, { method: "POST", body });
    assert.ok(raised.ok);
    await save("full.db");
    await ctl("alarm", "disarm");

    const { initialCluster, members, client, stop } = await planEtcd({ version, members: 1 });
    const [member] = members;
    try {
      const task = fetchTask(volume, "full.db", dirname(member!.plan.dir));
      fetched(await runTask(task, volume));
      await etcdutlRestore(version, task, member!, initialCluster);
      assert.ok((await runTask(finishTask(task, member!.plan.dir), volume)).ok);
      await member!.start({ initialCluster, state: "existing" });
      await untilLed(client, member!);
      const { endpoint } = member!;
      const status = await client.status(endpoint, options);
      assert.notEqual(status.memberId, memberId);
      assert.deepEqual(status.alarms, [{ memberId, type: "NOSPACE" }]);
      await assert.rejects(client.put(endpoint, "next", "no", options), /space exceeded/);
      await client.disarmAlarm(endpoint, { memberId, type: "NOSPACE" }, options);
      assert.deepEqual((await client.status(endpoint, options)).alarms, []);
      await client.put(endpoint, "next", "yes", options);
    } finally {
      await stop();
    }
  });

  test("refuses a damaged object or manifest, and leaves no files", async () => {
    const dir = join(volume.path, ".refused");
    mkdirSync(dir);
    const [keyFile, otherKey] = [join(volume.path, ".key"), join(volume.path, ".other-key")];
    for (const file of [keyFile, otherKey]) writeFileSync(file, randomBytes(32));
    const name = (sealed: boolean) => (sealed ? "sealed.db" : "plain.db");
    for (const sealed of [true, false]) {
      const packing = sealed ? ({ compression: "Zstd", encryption: { keyFile } } as const) : {};
      const backup = backupTask(volume, [urlOf(etcd.members[0]!)], { key: name(sealed), ...packing });
      assert.ok((await runTask(backup, volume)).ok);
    }
    const file = (sealed: boolean, of = "") => join(volume.path, `${name(sealed)}${of}`);
    const refusedWith = async (sealed: boolean, key = keyFile) => {
      const report = await runTask(
        fetchTask(volume, name(sealed), dir, sealed ? { encryption: { keyFile: key } } : {}),
        volume,
      );
      assert.deepEqual(readdirSync(dir), report.ok ? [".restore-uid"] : []);
      return report.ok ? "" : report.reason;
    };
    for (const sealed of [true, false]) {
      assert.equal(await refusedWith(sealed), "", "as it was stored");
      const bytes = readFileSync(file(sealed));
      const changed = (at: number) => Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)));
      const wrongs = [0, 20, bytes.length >> 1, bytes.length - 40, bytes.length - 1].map(changed);
      for (const wrong of [...wrongs, bytes.subarray(0, -1), bytes.subarray(0, 100), Buffer.alloc(0)]) {
        writeFileSync(file(sealed), wrong);
        assert.equal(await refusedWith(sealed), "SnapshotCorrupt");
      }
      writeFileSync(file(sealed), bytes);
      const manifest = readFileSync(file(sealed, ".manifest.json"), "utf8");
      for (const wrong of [
        manifest.slice(0, -10),
        readFileSync(file(!sealed, ".manifest.json"), "utf8"),
        manifest.replace(/("storedSha256": ")(.)/, (_, start, digit) => `${start}${digit === "0" ? "1" : "0"}`),
        manifest.replace(/"revision": "\d/, '"revision": "9'),
      ]) {
        writeFileSync(file(sealed, ".manifest.json"), wrong);
        assert.equal(await refusedWith(sealed), "SnapshotCorrupt", wrong);
      }
      writeFileSync(file(sealed, ".manifest.json"), manifest);
    }
    assert.equal(await refusedWith(true, otherKey), "BadKey");
    assert.equal(await refusedWith(true), "", "and with the right key again");
  });

  test("refuses a volume with data of another restore", async () => {
    const dir = join(volume.path, ".in-use");
    const task = fetchTask(volume, "in-use.db", dir);
    mkdirSync(dir);
    await save("in-use.db");
    for (const restoreUID of ["first", "second"]) {
      fetched(await runTask(task, volume));
      await etcdutlRestore(version, task, etcd.members[0]!, etcd.initialCluster);
      const report = await runTask(finishTask(task, join(dir, "data"), { restoreUID }), volume);
      if (restoreUID === "first") assert.ok(report.ok);
      else assert.ok(!report.ok && report.reason === "DataExists" && /uid first/.test(report.message));
    }
  });

  test("is verified with a temporary member, and missing data is detected", async () => {
    await ctl("compact", String(revision - 5));
    const key = "verified.db";
    const backup = backupTask(volume, [urlOf(etcd.members[0]!)], { key });
    assert.ok((await runTask(backup, volume)).ok);
    const thrownAway = await planEtcd({ version, members: 1 });
    try {
      const [member] = thrownAway.members;
      const dir = dirname(member!.plan.dir);
      const task = fetchTask(volume, key, dir);
      const held = fetched(await runTask(task, volume));
      await etcdutlRestore(version, task, member!, thrownAway.initialCluster, 0);
      await rename(join(task.workDir, "data"), member!.plan.dir);
      const verify = { kind: "verify", endpoint: urlOf(member!), workDir: task.workDir } as const;
      const verified = runTask(verify, volume);
      await member!.start({ initialCluster: thrownAway.initialCluster, state: "existing" });
      const manifest = readManifest(readFileSync(join(volume.path, `${key}.manifest.json`), "utf8"), key);
      assert.equal(manifest.hashKV?.compactRevision, String(revision - 5));
      const { hash } = manifest.hashKV;
      const keys = 4 + 1 + 400;
      const message = `etcd starts with it and has all ${keys} keys of revision ${held.revision}, with the manifest's hash`;
      assert.deepEqual(await verified, { ok: true, kind: "verify", revision: held.revision, keys, hash, message });

      const expected = join(task.workDir, "expected.json");
      const claim = async (change: object, highest = held.revision) => {
        const told = { revision: held.revision, keys, hashKV: manifest.hashKV, ...change };
        writeFileSync(expected, JSON.stringify({ key, revision: highest, manifest: told }));
        const report = await runTask(verify, volume);
        return report.ok ? "ok" : `${report.reason}: ${report.message}`;
      };
      assert.equal(await claim({}), "ok");
      assert.match(await claim({ keys: keys + 1 }), /^VerificationFailed: .*has 405 keys at revision \d+, .* has 406$/);
      const other = { hash: hash ^ 1, compactRevision: String(revision - 5) };
      assert.match(await claim({ hashKV: other }), /^VerificationFailed: .*the hash up to/);
      assert.match(await claim({}, String(revision + 1)), /^VerificationFailed: .* is at revision/);
      assert.equal(await claim({ revision: "2" }), "ok", "keys before a compaction cannot be counted");
    } finally {
      await thrownAway.stop();
    }
  });

  test("reports the revision of a compaction that is newer than every key", async () => {
    const { endpoint } = etcd.members[0]!;
    await etcd.client.put(endpoint, "gone", "soon", options);
    await ctl("del", "gone");
    const last = (await etcd.client.put(endpoint, "gone", "soon", options)) + 1;
    await ctl("del", "gone");
    await ctl("compact", String(last), "--physical");
    assert.equal((await factsOf(await save("compacted.db"))).revision, BigInt(last));
    const after = await etcd.client.put(endpoint, "after", "that", options);
    assert.equal(after, last + 1);
  });

  test("is refused while auth is enabled in the snapshot, and accepted when auth is disabled", async () => {
    assert.equal((await factsOf(await save("never.db"))).authEnabled, false);
    for (const args of [
      ["user", "add", "root:secret"],
      ["user", "grant-role", "root", "root"],
      ["auth", "enable"],
    ])
      await ctl(...args);
    const asRoot = "--user=root:secret";
    await save("on.db", asRoot);
    await ctl(asRoot, "auth", "disable");
    await save("off.db");
    const dir = join(volume.path, ".auth");
    mkdirSync(dir);
    const on = await runTask(fetchTask(volume, "on.db", dir), volume);
    assert.ok(!on.ok && on.reason === "AuthEnabled" && /etcdctl auth disable/.test(on.message), JSON.stringify(on));
    assert.deepEqual(readdirSync(dir), []);
    fetched(await runTask(fetchTask(volume, "off.db", dir), volume));
  });

  test.each([
    ["with Keep, requires auth", "Keep", /permission denied|user name is empty/],
    ["with Lift, allows any client", "Lift", undefined],
  ] as const)("of a snapshot with auth enabled, %s", async (_name, auth, refused) => {
    const thrownAway = await planEtcd({ version, members: 1 });
    try {
      const [member] = thrownAway.members;
      const task = fetchTask(volume, "on.db", dirname(member!.plan.dir), { auth });
      fetched(await runTask(task, volume));
      await etcdutlRestore(version, task, member!, thrownAway.initialCluster);
      await rename(join(task.workDir, "data"), member!.plan.dir);
      await member!.start({ initialCluster: thrownAway.initialCluster, state: "existing" });
      await until("it serves", async () => (await member!.httpStatus("/readyz")) === 200);
      const asked = thrownAway.client.get(member!.endpoint, "many/1", options);
      if (refused === undefined) assert.ok((await asked) !== undefined);
      else await assert.rejects(asked, refused);
      const users = await etcdTool(
        version,
        "etcdctl",
        `--endpoints=${urlOf(member!)}`,
        "--user=root:secret",
        "user",
        "list",
      );
      assert.equal(users.trim(), "root");
    } finally {
      await thrownAway.stop();
    }
  });
});
