import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { clusterId, type EndpointStatus, memberId } from "#etcd/types.ts";
import { MemoryStore } from "#kit/servers/memory-store.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { StoreError } from "#objectstore/error.ts";
import { type Manifest, readManifest } from "./archive/manifest.ts";
import { backUp } from "./backup.ts";
import type { Answer } from "./choose-member.ts";
import { asAgentError } from "./copy.ts";
import { deleteBackup } from "./delete.ts";
import { ProgressBoard } from "./progress.ts";
import type { BackupTask } from "./task.ts";

const KEY = "backups/db.db";
const MANIFEST = `${KEY}.manifest.json`;
const task: BackupTask = {
  kind: "backup",
  backupUID: "ours",
  source: { endpoints: ["http://m1:2379"] },
  destination: { store: "volume", path: "/" },
  key: KEY,
  compression: "None",
  about: { namespace: "default", backupName: "daily", clusterName: "db", clusterUID: "uid" },
};
/** Metadata of a concurrent attempt. */
const THIRD = { "backup-uid": "ours", attempt: "third" };
const deletion = { kind: "delete", backupUID: "ours", destination: task.destination, key: KEY } as const;

const database = Buffer.alloc(4096, "etcd ");
const snapshot = Buffer.concat([database, createHash("sha256").update(database).digest()]);
const status: EndpointStatus = {
  clusterId: clusterId(0xcdfn),
  memberId: memberId(0x8en),
  version: "3.6.16",
  dbSizeBytes: 4096,
  dbSizeInUseBytes: 4096,
  dbSizeQuotaBytes: undefined,
  storageVersion: undefined,
  leaderId: memberId(1n),
  raftIndex: 100,
  raftAppliedIndex: 100,
  raftTerm: 2,
  isLearner: false,
  downgradeTo: undefined,
  alarms: [],
};

/** Larger than a safe integer. */
const REVISION = 9_007_199_254_740_993n;

/** A member that sends these bytes, and then fails with `breaks`, if given. */
function memberWith(address: string, breaks?: Error): Answer {
  async function* send() {
    yield await Promise.resolve(snapshot.subarray(0, 1_000));
    if (breaks !== undefined) throw breaks;
    yield snapshot.subarray(1_000);
  }
  const source = {
    address,
    status: () => Promise.resolve(status),
    revision: () => Promise.resolve(REVISION),
    snapshot: send,
    keys: () => Promise.resolve(12),
    hashKV: () => Promise.resolve({ hash: 7, compactRevision: -1n }),
    authEnabled: () => Promise.resolve(false),
    changes: {} as Answer["source"]["changes"], // no archiver follows it
  };
  return { source, status };
}

function world(answers: readonly Answer[] = [memberWith("m1:2379")]) {
  const store = new MemoryStore();
  const clock = new FakeClock();
  const stop = new AbortController();
  const sources = {
    ask: (_signal: AbortSignal, except: ReadonlySet<Answer["source"]>) =>
      Promise.resolve(answers.filter(({ source }) => !except.has(source))),
  };
  const run = async (change: Partial<BackupTask> = {}) => {
    const done = backUp(
      { ...task, ...change },
      {
        store,
        clock,
        sources,
        key: undefined,
        board: new ProgressBoard(0),
        signal: stop.signal,
        patienceMs: 60_000,
        log: silentLog,
      },
    );
    done.catch(() => undefined);
    await clock.advance(20_000); // Time passes only by sleeping.
    return await done;
  };
  return { store, clock, stop, run };
}

async function failure(run: Promise<unknown>): Promise<string> {
  const thrown = await run.then(
    () => assert.fail("it went well"),
    (thrown: unknown) => asAgentError(thrown),
  );
  return `${thrown.reason}: ${thrown.message}`;
}

const manifestIn = (store: MemoryStore): Manifest =>
  readManifest(store.objects.get(MANIFEST)?.bytes.toString() ?? "", KEY);

describe("a backup", () => {
  test("is not given up when the database grows after etcd has sent the snapshot", async () => {
    const member = memberWith("m1:2379");
    const small = { ...status, dbSizeQuotaBytes: 10_000 };
    const source = { ...member.source, status: () => Promise.resolve({ ...small, dbSizeBytes: 9_999 }) };
    const { store, run, clock } = world([{ source, status: small }]);
    const ended = store.put.bind(store);
    // The store takes its time to assemble the object, and refuses it when the call was aborted.
    store.put = async (key, body, options) => {
      const stored = await ended(key, body, options);
      await clock.sleep(7_000);
      if (options.signal.aborted) throw new StoreError("Aborted", "too late");
      return stored;
    };
    assert.equal((await run()).key, KEY);
  });

  test("stores the object as etcd sent it, and its manifest last", async () => {
    const { store, run } = world();
    const object = await run();
    assert.deepEqual(store.calls, [`head ${KEY}`, `get ${MANIFEST}`, `put ${KEY}`, `put ${MANIFEST}`, `head ${KEY}`]);
    assert.ok(store.objects.get(KEY)?.bytes.equals(snapshot));
    const sha256 = createHash("sha256").update(snapshot).digest("hex");
    const { attempt, startedAt, completedAt, ...manifest } = manifestIn(store);
    assert.deepEqual(manifest, {
      formatVersion: 1,
      key: KEY,
      bytes: 4128,
      storedBytes: 4128,
      sha256,
      storedSha256: sha256,
      revision: "9007199254740993",
      keys: 12,
      hashKV: { hash: 7, compactRevision: "-1" },
      authEnabled: false,
      cluster: { namespace: "default", name: "db", uid: "uid", id: "cdf" },
      memberID: "8e",
      etcdVersion: "3.6.16",
      compression: "None",
      backupName: "daily",
      backupUID: "ours",
    });
    for (const key of [KEY, MANIFEST]) {
      assert.deepEqual(store.objects.get(key)?.metadata, { "backup-uid": "ours", attempt });
    }
    assert.deepEqual(object, {
      key: KEY,
      bytes: 4128,
      storedBytes: 4128,
      sha256,
      revision: "9007199254740993",
      etcdVersion: "3.6.16",
      clusterID: "cdf",
      memberID: "8e",
      startedAt,
      completedAt,
      compression: "None",
      encrypted: false,
    });
  });

  test("reports an earlier attempt's completed object again, and writes nothing", async () => {
    const { store, run } = world();
    const first = await run();
    store.calls.length = 0;
    assert.deepEqual(await run(), first);
    assert.ok(
      store.calls.every((call) => /^(?:head|get) /.test(call)),
      store.calls.join(),
    );
  });

  test.each<[string, (store: MemoryStore) => void]>([
    ["its manifest is missing", (store) => store.objects.delete(MANIFEST)],
    [
      "its object is truncated",
      (store) => store.objects.set(KEY, { ...store.objects.get(KEY)!, bytes: snapshot.subarray(0, 99) }),
    ],
    [
      "its object is of another attempt than its manifest",
      (store) => store.objects.set(KEY, { bytes: snapshot, metadata: { "backup-uid": "ours", attempt: "late" } }),
    ],
    ["its object is missing", (store) => store.objects.delete(KEY)],
  ])("deletes an incomplete object and stores it again: %s", async (_what, spoil) => {
    const { store, run } = world();
    const first = await run();
    const before = manifestIn(store).attempt;
    spoil(store);
    store.before = (call) => {
      if (call === `put ${KEY}`) assert.deepEqual(store.keys, []);
    };
    assert.equal((await run()).sha256, first.sha256);
    assert.ok(store.objects.get(KEY)?.bytes.equals(snapshot));
    assert.notEqual(manifestIn(store).attempt, before);
    assert.equal(store.objects.get(KEY)?.metadata.attempt, manifestIn(store).attempt);
  });

  test("waits for a concurrent attempt, and reports its result", async () => {
    const { store, clock, run } = world();
    const first = await run();
    const theirs = new Map(store.objects);
    store.objects.delete(MANIFEST);
    clock.after(9_000, () => store.objects.set(MANIFEST, theirs.get(MANIFEST)!));
    assert.deepEqual(await run(), first);
    assert.deepEqual(store.objects, theirs);
  });

  test("stops waiting for a concurrent attempt when it is cancelled", async () => {
    const { store, stop, clock, run } = world();
    await run();
    store.objects.delete(MANIFEST);
    clock.after(5_000, () => stop.abort());
    assert.match(await failure(run()), /^Stopped: /);
    assert.deepEqual(store.keys, [KEY]);
  });

  test.each<[string, (store: MemoryStore) => void]>([
    ["a foreign backup", () => undefined],
    ["a foreign object without a manifest", (store) => store.objects.delete(MANIFEST)],
    ["a foreign manifest without an object", (store) => store.objects.delete(KEY)],
    ["an object without a uid", (store) => store.objects.set(KEY, { bytes: Buffer.from("mine"), metadata: {} })],
    ["an invalid manifest", (store) => store.objects.set(MANIFEST, { bytes: Buffer.from("{}"), metadata: {} })],
    [
      "a huge object at the manifest's key",
      (store) => store.objects.set(MANIFEST, { bytes: Buffer.alloc(70_000), metadata: {} }),
    ],
  ])("is refused where there is %s, and changes nothing", async (_what, change) => {
    const { store, run } = world();
    await run({ backupUID: "theirs" });
    change(store);
    const before = new Map(store.objects);
    assert.match(await failure(run()), /^ObjectExists: /);
    assert.deepEqual(store.objects, before);
  });

  test("leaves no object when its manifest cannot be written", async () => {
    const { store, run } = world();
    store.before = (call) => {
      if (call === `put ${MANIFEST}`) throw new StoreError("NoSpace", "the bucket is full");
    };
    assert.equal(await failure(run()), "NoSpace: the bucket is full");
    assert.deepEqual(store.keys, []);
  });

  test("leaves no object when it is cancelled before the manifest is written", async () => {
    const { store, stop, run } = world();
    store.before = (call) => {
      if (call === `put ${MANIFEST}`) stop.abort();
    };
    assert.match(await failure(run()), /^Stopped: /);
    assert.deepEqual(store.keys, []);
  });

  test("does not delete an object that another pod has replaced", async () => {
    const { store, run } = world();
    const theirs = { bytes: snapshot, metadata: { "backup-uid": "ours", attempt: "other" } };
    store.before = (call) => {
      if (call !== `put ${MANIFEST}`) return;
      store.objects.set(KEY, theirs);
      throw new StoreError("Unreachable", "no connection");
    };
    assert.match(await failure(run()), /^StoreUnreachable: /);
    assert.deepEqual(store.objects.get(KEY), theirs);
  });

  test("deletes a manifest that an earlier pod of the same Job writes late", async () => {
    const { store, run } = world();
    await run();
    const late = store.objects.get(MANIFEST)!;
    store.objects.clear();
    let isLate = true;
    store.before = (call) => {
      if (call === `put ${MANIFEST}` && isLate) store.objects.set(MANIFEST, late);
      if (call === `put ${MANIFEST}`) isLate = false;
    };
    await run();
    assert.equal(manifestIn(store).attempt, store.objects.get(KEY)?.metadata.attempt);
  });

  test("reports another attempt's backup that was completed before its own manifest", async () => {
    const { store, run } = world();
    const first = await run({ compression: "Zstd" });
    const theirs = new Map(store.objects);
    store.objects.clear();
    store.before = (call) => {
      if (call !== `put ${MANIFEST}`) return;
      for (const [key, object] of theirs) store.objects.set(key, object);
    };
    assert.deepEqual(await run(), first);
    assert.deepEqual(store.objects, theirs);
  });

  test("reports another attempt's backup that was completed during its own upload", async () => {
    const { store, run } = world();
    const first = await run();
    const theirs = new Map(store.objects);
    store.objects.clear();
    store.before = (call) => {
      if (call !== `put ${KEY}`) return;
      for (const [key, object] of theirs) store.objects.set(key, object);
    };
    assert.deepEqual(await run(), first);
    assert.deepEqual(store.objects, theirs);
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ["another running attempt", THIRD, /^AnotherAttempt: .*backups\/db\.db/],
    ["another backup", { "backup-uid": "theirs" }, /^ObjectExists: .*with uid theirs/],
  ])("fails when %s takes its key during the upload, and deletes nothing", async (_other, metadata, message) => {
    const { store, run } = world();
    store.before = (call) => {
      if (call === `put ${KEY}`) store.objects.set(KEY, { bytes: snapshot, metadata });
    };
    assert.match(await failure(run()), message);
    assert.deepEqual(store.keys, [KEY]);
  });

  test.each<[string, (store: MemoryStore) => void]>([
    ["is gone", (store) => store.objects.delete(KEY)],
    [
      "was replaced by a third attempt's object",
      (store) => store.objects.set(KEY, { bytes: snapshot, metadata: THIRD }),
    ],
  ])("fails when another attempt's late manifest exists and its object %s", async (_what, change) => {
    const { store, run } = world();
    await run();
    const late = store.objects.get(MANIFEST)!;
    store.objects.clear();
    store.before = (call) => {
      if (call !== `put ${MANIFEST}`) return;
      store.before = () => undefined;
      store.objects.set(MANIFEST, late);
      change(store);
    };
    assert.match(await failure(run()), /^AnotherAttempt: .*backups\/db\.db/);
    assert.deepEqual(store.objects.get(MANIFEST), late);
  });

  test("fails when another attempt overwrites its manifest, and keeps that manifest", async () => {
    const { store, run } = world();
    await run();
    const late = store.objects.get(MANIFEST)!;
    store.objects.clear();
    store.before = (call) => {
      if (call === `put ${MANIFEST}`) store.objects.set(MANIFEST, late);
    };
    assert.match(await failure(run()), /^AnotherAttempt: /);
    assert.deepEqual(store.keys, [MANIFEST]);
  });

  test("is refused when another backup writes a manifest at its key", async () => {
    const { store, run } = world();
    await run({ backupUID: "theirs" });
    const theirs = store.objects.get(MANIFEST)!;
    store.objects.clear();
    store.before = (call) => {
      if (call === `put ${MANIFEST}`) store.objects.set(MANIFEST, theirs);
    };
    assert.match(await failure(run()), /^ObjectExists: /);
    assert.deepEqual([...store.objects], [[MANIFEST, theirs]]);
  });

  test.each<[string, (store: MemoryStore) => void]>([
    ["was deleted", (store) => store.objects.delete(KEY)],
    ["was replaced", (store) => store.objects.set(KEY, { bytes: snapshot, metadata: THIRD })],
    [
      "was truncated",
      (store) => store.objects.set(KEY, { ...store.objects.get(KEY)!, bytes: snapshot.subarray(0, 99) }),
    ],
  ])("fails when its object %s before the manifest is written", async (_what, change) => {
    const { store, run } = world();
    store.before = (call) => {
      if (call === `put ${MANIFEST}`) change(store);
    };
    assert.match(await failure(run()), /^AnotherAttempt: /);
  });

  test("keeps a complete object when the store fails the last request", async () => {
    const { store, run } = world();
    store.before = (call) => {
      if (call === `head ${KEY}` && store.objects.has(MANIFEST)) throw new StoreError("Timeout", "no answer");
    };
    assert.equal(await failure(run()), "StoreUnreachable: no answer");
    assert.deepEqual(store.keys, [KEY, MANIFEST]);
  });
});

describe("a member that fails during a backup", () => {
  const down = new OperatorError("EtcdUnavailable", "Snapshot at m1:2379: broken off");

  test("is replaced by the next member, each at most once", async () => {
    const { store, run } = world([memberWith("m1:2379", down), memberWith("m2:2379", down), memberWith("m3:2379")]);
    await run();
    assert.deepEqual(store.calls.filter((call) => call === `put ${KEY}`).length, 3);
    assert.ok(store.objects.get(KEY)?.bytes.equals(snapshot));
  });

  test("fails the backup when no other member is left, and nothing is stored", async () => {
    const { store, run } = world([memberWith("m1:2379", down), memberWith("m2:2379", down)]);
    assert.equal(await failure(run()), "SourceUnreachable: Snapshot at m1:2379: broken off");
    assert.deepEqual(store.keys, []);
  });

  test("without a quorum is replaced by another member", async () => {
    const lost = memberWith("m1:2379");
    const noLeader = new OperatorError("EtcdUnavailable", "Range at m1:2379: etcdserver: no leader");
    const refusal = new ConnectError("etcdserver: no leader", Code.Unavailable);
    const source = { ...lost.source, revision: () => Promise.reject(Object.assign(noLeader, { cause: refusal })) };
    const { store, run } = world([{ source, status }, memberWith("m2:2379")]);
    await run();
    assert.deepEqual(store.keys, [KEY, MANIFEST]);
    assert.equal(await failure(world([{ source, status }]).run()), "NoQuorum: Range at m1:2379: etcdserver: no leader");
  });

  test("fails the backup when only a member of another cluster is left", async () => {
    const other = memberWith("m2:2379");
    const { store, run } = world([
      memberWith("m1:2379", down),
      { ...other, status: { ...status, clusterId: clusterId(0xabcn) } },
    ]);
    const source = { ...task.source, clusterID: "cdf" };
    assert.equal(await failure(run({ source })), "SourceUnreachable: Snapshot at m1:2379: broken off");
    assert.deepEqual(store.keys, []);
  });

  test("is not replaced when the object store fails", async () => {
    const { store, run } = world([memberWith("m1:2379"), memberWith("m2:2379")]);
    store.before = (call) => {
      if (call === `put ${KEY}`) throw new StoreError("Timeout", "no answer");
    };
    assert.equal(await failure(run()), "StoreUnreachable: no answer");
    assert.equal(store.calls.filter((call) => call === `put ${KEY}`).length, 1);
  });
});

describe("a deletion of a backup", () => {
  const never = new AbortController().signal;

  test("deletes the manifest, then the object, and finds nothing when it is repeated", async () => {
    const { store, run } = world();
    await run();
    store.calls.length = 0;
    assert.equal(await deleteBackup(deletion, store, never), true);
    assert.deepEqual(store.keys, []);
    assert.deepEqual(store.calls.slice(-2), [`delete ${MANIFEST}`, `delete ${KEY}`]);
    assert.equal(await deleteBackup(deletion, store, never), false);
  });

  test.each<[string, (store: MemoryStore) => void]>([
    ["its object when the manifest is missing", (store) => store.objects.delete(MANIFEST)],
    ["its manifest when the object is missing", (store) => store.objects.delete(KEY)],
    [
      "its object when the object has no metadata",
      (store) => store.objects.set(KEY, { bytes: snapshot, metadata: {} }),
    ],
  ])("deletes %s", async (_what, change) => {
    const { store, run } = world();
    await run();
    change(store);
    assert.equal(await deleteBackup(deletion, store, never), true);
    assert.deepEqual(store.keys, []);
  });

  test.each<[string, (store: MemoryStore) => void]>([
    ["a foreign backup", () => undefined],
    [
      "an object without a uid",
      (store) => {
        store.objects.delete(MANIFEST);
        store.objects.set(KEY, { bytes: snapshot, metadata: {} });
      },
    ],
    [
      "an invalid manifest",
      (store) => {
        store.objects.delete(KEY);
        store.objects.set(MANIFEST, { bytes: Buffer.from("{}"), metadata: {} });
      },
    ],
  ])("keeps %s", async (_what, change) => {
    const { store, run } = world();
    await run({ backupUID: "theirs" });
    change(store);
    const before = new Map(store.objects);
    assert.equal(await deleteBackup(deletion, store, never), false);
    assert.deepEqual(store.objects, before);
  });
});
