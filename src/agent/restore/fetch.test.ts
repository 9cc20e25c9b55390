import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeEach, describe, test } from "vitest";
import { silentLog } from "#base/log.ts";
import { etcdSnapshot, snapshotOf } from "#kit/etcd/bbolt.ts";
import { MemoryStore } from "#kit/servers/memory-store.ts";
import { StoreError } from "#objectstore/error.ts";
import { readKey } from "../archive/key.ts";
import { type Manifest, manifestText } from "../archive/manifest.ts";
import { PackedSnapshot, type Packing } from "../archive/pack.ts";
import { asAgentError } from "../copy.ts";
import { ProgressBoard } from "../progress.ts";
import type { ExpectedSnapshot, FetchTask } from "../task.ts";
import { readExpectation } from "./expectation.ts";
import { fetchSnapshot } from "./fetch.ts";

const KEY = "backups/db.db";
const MANIFEST = `${KEY}.manifest.json`;
const key = readKey(Buffer.alloc(32, 7), "the file");
const otherKey = readKey(Buffer.alloc(32, 8), "the file");
const snapshot = etcdSnapshot({ revisions: [2, 3, 9] });
const sha256 = createHash("sha256").update(snapshot).digest("hex");

const home = mkdtempSync(join(tmpdir(), "fetch-test-"));
afterAll(() => rmSync(home, { recursive: true }));
const workDir = join(home, ".restore-uid");
beforeEach(() => rmSync(workDir, { recursive: true, force: true }));

const task: FetchTask = { kind: "fetch", from: { store: "volume", path: "/" }, key: KEY, workDir };
const PLAIN: Packing = { compression: "None", key: undefined };
const SEALED: Packing = { compression: "Zstd", key };

async function* once(bytes: Buffer) {
  yield await Promise.resolve(bytes);
}

async function packed(bytes: Buffer, packing: Packing) {
  const pack = new PackedSnapshot(packing);
  const parts: Uint8Array[] = [];
  for await (const part of pack.pass(once(bytes))) parts.push(part);
  return { object: Buffer.concat(parts), measures: pack.measures() };
}

/** A store with a backup. */
async function stored(packing: Packing, options: { bytes?: Buffer; manifest?: Partial<Manifest> } = {}) {
  const { object, measures } = await packed(options.bytes ?? snapshot, packing);
  const store = new MemoryStore();
  store.objects.set(KEY, { bytes: object, metadata: {} });
  const manifest: Manifest = {
    formatVersion: 1,
    key: KEY,
    ...measures,
    revision: "8",
    cluster: { namespace: "default", name: "db", uid: "of-db", id: "cdf" },
    memberID: "8e",
    etcdVersion: "3.6.16",
    startedAt: "2026-11-22T11:00:00.000Z",
    completedAt: "2026-11-22T11:00:02.000Z",
    compression: packing.compression,
    ...(packing.key === undefined ? {} : { encryption: { algorithm: "AES-256-GCM-STREAM", keyID: packing.key.id } }),
    backupName: "daily",
    backupUID: "of-daily",
    attempt: "first",
    ...options.manifest,
  };
  store.objects.set(MANIFEST, { bytes: Buffer.from(manifestText(manifest)), metadata: {} });
  return store;
}

function run(
  store: MemoryStore,
  change: Partial<FetchTask> = {},
  secret?: typeof key,
  signal = new AbortController().signal,
) {
  const board = new ProgressBoard(0);
  return fetchSnapshot({ ...task, ...change }, { store, key: secret, board, signal, log: silentLog });
}

/** Also checks that nothing is left. */
async function refusal(...args: Parameters<typeof run>): Promise<string> {
  const thrown = await run(...args).then(
    () => assert.fail("it went well"),
    (thrown: unknown) => asAgentError(thrown),
  );
  assert.deepEqual(readdirSync(home), [], "nothing is left");
  return `${thrown.reason}: ${thrown.message}`;
}

describe("fetching a snapshot", () => {
  test.each([
    ["that is stored as etcd sent it", PLAIN],
    ["that is compressed", { compression: "Zstd", key: undefined }],
    ["that is encrypted", { compression: "None", key }],
    ["that is compressed and encrypted", SEALED],
  ] as const)("%s: writes it to the work directory with its manifest's facts", async (_name, packing) => {
    const fetched = await run(await stored(packing), {}, packing.key);
    assert.deepEqual(fetched, {
      key: KEY,
      bytes: snapshot.length,
      sha256,
      revision: "9",
      etcdVersion: "3.6.16",
      clusterID: "cdf",
      clusterUID: "of-db",
      backupUID: "of-daily",
      hasManifest: true,
    });
    assert.deepEqual(readdirSync(workDir), ["expected.json", "snapshot.db"]);
    assert.ok(readFileSync(join(workDir, "snapshot.db")).equals(snapshot));
  });

  test("from a copy under another key: the manifest beside the object describes it", async () => {
    const store = await stored(SEALED);
    const moved = "other/prefix/copy.db";
    for (const [of, object] of [...store.objects]) store.objects.set(of.replace(KEY, moved), object);
    store.objects.delete(KEY);
    store.objects.delete(MANIFEST);
    const { key: from, hasManifest, sha256: is } = await run(store, { key: moved }, key);
    assert.deepEqual([from, hasManifest, is], [moved, true, sha256]);
  });

  test.each([
    ["that is stored as etcd sent it", PLAIN, snapshot],
    ["that is compressed by zstd", PLAIN, zstdCompressSync(snapshot)],
    ["that is compressed by gzip", PLAIN, gzipSync(snapshot)],
    ["that is encrypted", SEALED, undefined],
  ] as const)(
    "without a manifest, %s: writes it with the facts of the snapshot itself",
    async (_name, packing, bytes) => {
      const store = new MemoryStore();
      store.objects.set(KEY, { bytes: bytes ?? (await packed(snapshot, packing)).object, metadata: {} });
      const fetched = await run(store, { expect: { sha256 } }, packing.key);
      assert.deepEqual(fetched, {
        key: KEY,
        bytes: snapshot.length,
        sha256,
        revision: "9",
        etcdVersion: "3.6.0",
        hasManifest: false,
      });
      assert.ok(readFileSync(join(workDir, "snapshot.db")).equals(snapshot));
    },
  );

  test("deletes the files of a killed attempt", async () => {
    mkdirSync(join(workDir, "data/member/snap"), { recursive: true });
    writeFileSync(join(workDir, "snapshot.db.part"), "half");
    await run(await stored(PLAIN));
    assert.deepEqual(readdirSync(workDir), ["expected.json", "snapshot.db"]);
  });

  test("accepts the expected backup uid and checksum", async () => {
    await run(await stored(PLAIN), { expect: { backupUID: "of-daily", sha256 } });
  });
});

describe("fetching a snapshot is refused, and leaves no files, for", () => {
  test("a missing object", async () => {
    assert.match(await refusal(new MemoryStore()), /^NoSuchObject: there is no object backups\/db\.db$/);
    const store = await stored(PLAIN);
    store.objects.delete(KEY);
    assert.match(await refusal(store), /^NoSuchObject: .*only its manifest exists/);
  });

  test("an object of another tool that is cut off, or is a member's database file", async () => {
    const given = async (bytes: Buffer) => {
      const store = new MemoryStore();
      store.objects.set(KEY, { bytes, metadata: {} });
      return await refusal(store);
    };
    assert.match(await given(gzipSync(snapshot).subarray(0, -9)), /^SnapshotCorrupt: it cannot be decompressed: /);
    const database = snapshot.subarray(0, -32);
    assert.match(
      await given(database),
      /^SnapshotCorrupt: .* a database file without a checksum.*etcdctl snapshot save$/,
    );
    assert.match(await given(gzipSync(database)), /a database file without a checksum/);
    assert.match(await given(Buffer.alloc(4_096)), /it was cut off, or is no snapshot/);
  });

  test("a backup with another uid or checksum than expected", async () => {
    const other = "0".repeat(64);
    const meant = (expect: ExpectedSnapshot) => ({ expect });
    assert.match(
      await refusal(await stored(PLAIN), meant({ backupUID: "x" })),
      /^SnapshotCorrupt: .* uid of-daily; .* of x$/,
    );
    assert.match(await refusal(await stored(PLAIN), meant({ sha256: other })), /^SnapshotCorrupt: .*another snapshot/);
    const store = await stored(PLAIN);
    store.objects.delete(MANIFEST);
    assert.match(await refusal(store, meant({ backupUID: "of-daily" })), /^NoSuchObject: .* has no manifest/);
    assert.match(
      await refusal(store, meant({ backupUID: "of-daily", sha256: other })),
      /^SnapshotCorrupt: .*another snapshot/,
    );
    await run(store, meant({ backupUID: "of-daily", sha256 }));
  });

  test("a manifest of another object, an unreadable one, or one with a higher revision", async () => {
    const other = await stored(PLAIN, { bytes: etcdSnapshot({ revisions: [2, 3, 8] }) });
    const store = await stored(PLAIN);
    store.objects.set(MANIFEST, other.objects.get(MANIFEST)!);
    assert.match(await refusal(store), /^SnapshotCorrupt: the SHA-256 of the object are .*, and its manifest has /);
    store.objects.set(MANIFEST, { bytes: Buffer.from("{"), metadata: {} });
    assert.match(await refusal(store), /^SnapshotCorrupt: .* is not JSON/);
    const ahead = await stored(PLAIN, { manifest: { revision: "10" } });
    assert.match(await refusal(ahead), /^SnapshotCorrupt: .* ends at revision 9, .* has revision 10$/);
  });

  test.each([
    ["as etcd sent it", PLAIN],
    ["compressed", { compression: "Zstd", key: undefined }],
    ["compressed and encrypted", SEALED],
  ] as const)("an object with any byte changed or cut off, stored %s", async (_name, packing) => {
    const { bytes } = (await stored(packing)).objects.get(KEY)!;
    const wrongs: Buffer[] = [];
    for (const at of [0, 5, 30, 60, bytes.length >> 1, bytes.length - 33, bytes.length - 1]) {
      const wrong = Buffer.from(bytes);
      wrong[at]! ^= 1;
      wrongs.push(wrong);
    }
    for (const length of [0, 10, bytes.length >> 1, bytes.length - 512, bytes.length - 1]) {
      wrongs.push(bytes.subarray(0, length));
    }
    for (const wrong of wrongs) {
      const store = await stored(packing);
      store.objects.set(KEY, { bytes: wrong, metadata: {} });
      assert.match(await refusal(store, {}, packing.key), /^SnapshotCorrupt: |^BadKey: /);
      store.objects.delete(MANIFEST);
      // Some bits of a zstd frame have no effect; then the snapshot is the right one.
      const alone = await run(store, {}, packing.key).catch(() => undefined);
      assert.ok(alone === undefined || (packing.compression === "Zstd" && packing.key === undefined));
      assert.equal(alone?.sha256 ?? sha256, sha256);
      assert.deepEqual(readdirSync(home), alone === undefined ? [] : [".restore-uid"]);
      rmSync(workDir, { recursive: true, force: true });
    }
  });

  test("a wrong encryption key, before the object is read", async () => {
    const sealed = await stored(SEALED);
    assert.match(await refusal(sealed), new RegExp(`^BadKey: .*with the key ${key.id}, but no key is given`));
    assert.match(
      await refusal(sealed, {}, otherKey),
      new RegExp(`^BadKey: .*${key.id}, but the given key is ${otherKey.id}`),
    );
    const plain = await stored(PLAIN);
    assert.match(await refusal(plain, {}, key), /^BadKey: .*is not encrypted, but a key is given/);
    for (const { calls } of [sealed, plain]) assert.ok(!calls.includes(`get ${KEY}`));
  });

  test("a wrong encryption key when there is no manifest", async () => {
    const [sealed, plain] = await Promise.all([stored(SEALED), stored(PLAIN)]);
    const ended: string[] = [];
    for (const store of [sealed, plain]) {
      store.objects.delete(MANIFEST);
      const get = store.get.bind(store);
      store.get = async function* (...args) {
        try {
          yield* get(...args);
          yield Buffer.from("more that is never read");
        } finally {
          ended.push(args[0]);
        }
      };
    }
    assert.match(await refusal(sealed), /^BadKey: .*it is encrypted, but no key is given/);
    assert.match(await refusal(sealed, {}, otherKey), /^BadKey: .*with the key/);
    assert.match(await refusal(plain, {}, key), /^BadKey: .*is not encrypted, but a key is given/);
    assert.equal(ended.filter((of) => of === KEY).length, 3, "what was begun is let go");
  });

  test("enabled auth in the manifest, before the object is read, or in the snapshot", async () => {
    const bytes = etcdSnapshot({ revisions: [2, 3, 9], authEnabled: true });
    const authenticated = await stored(PLAIN, { bytes, manifest: { authEnabled: true } });
    assert.match(
      await refusal(authenticated),
      /^AuthEnabled: authentication is enabled in backups\/db\.db.*etcdctl auth disable/,
    );
    assert.ok(!authenticated.calls.includes(`get ${KEY}`));
    assert.match(await refusal(await stored(PLAIN, { bytes, manifest: { authEnabled: false } })), /^AuthEnabled: /);
    const alone = await stored(PLAIN, { bytes });
    alone.objects.delete(MANIFEST);
    assert.match(await refusal(alone), /^AuthEnabled: /);
  });

  test("no enabled auth when the restored cluster keeps auth or the replay disables it", async () => {
    const bytes = etcdSnapshot({ revisions: [2, 3, 9], authEnabled: true });
    for (const auth of ["Keep", "Lift"] as const) {
      rmSync(workDir, { recursive: true, force: true });
      const fetched = await run(await stored(PLAIN, { bytes, manifest: { authEnabled: true } }), { auth });
      assert.equal(fetched.sha256, createHash("sha256").update(bytes).digest("hex"));
      const lies = readFileSync(join(workDir, "snapshot.db"));
      assert.ok(lies.equals(auth === "Keep" ? bytes : etcdSnapshot({ revisions: [2, 3, 9], authEnabled: false })));
      const { isAuthLifted } = await readExpectation(workDir);
      assert.equal(isAuthLifted, auth === "Lift" ? true : undefined);
    }
    rmSync(workDir, { recursive: true, force: true });
    await run(await stored(PLAIN), { auth: "Lift" });
    assert.ok(readFileSync(join(workDir, "snapshot.db")).equals(snapshot), "there was nothing to switch");
    assert.equal((await readExpectation(workDir)).isAuthLifted, undefined);
  });

  test("a snapshot that is larger than the free space", async () => {
    const roomBytes = 2 ** 60;
    const store = await stored(PLAIN);
    const words = new RegExp(
      `^NoSpace: the volume of ${workDir} has \\d+ bytes free; ${roomBytes + snapshot.length} are needed: ${snapshot.length} for the snapshot`,
    );
    assert.match(await refusal(store, { roomBytes }), words);
    assert.ok(!store.calls.includes(`get ${KEY}`));
  });

  test("a snapshot that exceeds the free space while it is decompressed", async () => {
    const dir = mkdtempSync("/dev/shm/fetch-test-"); // nothing else frees space here
    try {
      const large = snapshotOf(Buffer.alloc(8 * 1024 ** 2));
      const store = new MemoryStore();
      store.objects.set(KEY, { bytes: zstdCompressSync(large), metadata: {} });
      const { bavail, bsize } = statfsSync(dir);
      const roomBytes = bavail * bsize - large.length / 2;
      const why = await refusal(store, { workDir: join(dir, ".restore-uid"), roomBytes });
      assert.match(why, /^NoSpace: .* bytes free; \d+ are needed/);
      assert.ok(store.calls.includes(`get ${KEY}`));
      assert.deepEqual(readdirSync(dir), []);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test("an object of another size than its manifest has, before the object is read", async () => {
    const store = await stored(PLAIN);
    store.objects.set(KEY, { bytes: snapshot.subarray(0, 5_000), metadata: {} });
    assert.match(await refusal(store), /^SnapshotCorrupt: .* has 5000 bytes, but its manifest has/);
    assert.ok(!store.calls.includes(`get ${KEY}`));
  });

  test("any failure of the store, and a cancellation", async () => {
    const store = await stored(PLAIN);
    store.before = (call) => {
      if (call === `get ${KEY}`) throw new StoreError("AccessDenied", "you may not");
    };
    assert.equal(await refusal(store), "AccessDenied: you may not");
    const stop = new AbortController();
    store.before = () => stop.abort();
    assert.match(await refusal(store, {}, undefined, stop.signal), /^Stopped: /);
  });

  test("a parent directory that does not exist", async () => {
    const away = join(home, "away", ".restore-uid");
    assert.match(await refusal(await stored(PLAIN), { workDir: away }), /^Internal: .*away\/\.restore-uid: ENOENT/);
    assert.ok(!existsSync(join(home, "away")));
  });
});
