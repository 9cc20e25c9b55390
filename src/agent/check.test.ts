import assert from "node:assert/strict";
import { test } from "vitest";
import { MemoryStore } from "#kit/servers/memory-store.ts";
import { StoreError } from "#objectstore/error.ts";
import { type Manifest, manifestKeyOf, manifestText } from "./archive/manifest.ts";
import { checkStored } from "./check.ts";
import { asAgentError } from "./copy.ts";

const KEY = "shop/orders/uid/20261122T030000Z-daily-0a1b2c3d.db";
const MANIFEST: Manifest = {
  formatVersion: 1,
  key: KEY,
  bytes: 20_512,
  sha256: "a".repeat(64),
  storedBytes: 5,
  storedSha256: "b".repeat(64),
  revision: "12",
  cluster: { namespace: "shop", id: "cdf" },
  memberID: "8e",
  etcdVersion: "3.6.16",
  startedAt: "2026-11-22T03:00:00.000Z",
  completedAt: "2026-11-22T03:00:02.000Z",
  compression: "None",
  backupName: "daily",
  backupUID: "ours",
  authEnabled: true,
  attempt: "1",
};
const never = new AbortController().signal;

function given(change: Partial<Manifest> = {}): MemoryStore {
  const store = new MemoryStore();
  const put = (key: string, text: string) =>
    store.objects.set(key, { bytes: Buffer.from(text), metadata: {}, modified: new Date("2026-11-25T00:00:00Z") });
  put(KEY, "12345");
  put(manifestKeyOf(KEY), manifestText({ ...MANIFEST, ...change }));
  return store;
}

/** "stored", or reason and message of the failure. */
async function checked(store: MemoryStore, expect: object = { backupUID: "ours" }): Promise<string> {
  return await checkStored({ key: KEY, expect }, store, never).then(
    () => "stored",
    (thrown: unknown) => {
      const { reason, message } = asAgentError(thrown);
      return `${reason}: ${message}`;
    },
  );
}

function without(...keys: readonly string[]): MemoryStore {
  const store = given();
  for (const key of keys) store.objects.delete(key);
  return store;
}

test("a stored backup is found, also after a copy that has lost the metadata, and its bytes are not read", async () => {
  const store = given();
  assert.equal(await checked(store), "stored");
  assert.equal(await checked(store, { backupUID: "ours", sha256: MANIFEST.sha256 }), "stored");
  assert.ok(!store.calls.includes(`get ${KEY}`), store.calls.join());
});

test.each<[string, MemoryStore, object | undefined, RegExp]>([
  ["without object and manifest", without(KEY, manifestKeyOf(KEY)), undefined, /^NoSuchObject: there is no object \S+\.db$/],
  ["without the object", without(KEY), undefined, /^NoSuchObject: there is no object .*; only its manifest exists$/],
  ["without the manifest", without(manifestKeyOf(KEY)), undefined, /^NoSuchObject: the manifest .*\.manifest\.json is gone; only the object exists$/],
  ["with an object of another size", given({ storedBytes: 6 }), undefined, /^SnapshotCorrupt: .* has 5 bytes, but its manifest has 6$/],
  ["of another backup", given({ backupUID: "theirs" }), undefined, /^SnapshotCorrupt: .*uid theirs; it must be that of ours$/],
  ["of another snapshot", given(), { sha256: "c".repeat(64) }, /^SnapshotCorrupt: .*another snapshot/],
])("a key %s fails the check", async (_, store, expect, expected) => {
  assert.match(await checked(store, expect), expected);
}); // biome-ignore format: a table

test("a store that does not answer is not taken for a missing object", async () => {
  const failing = given();
  failing.head = () => Promise.reject(new StoreError("Unreachable", "no route"));
  assert.equal(await checked(failing), "StoreUnreachable: no route");
  const refusing = given();
  refusing.head = () => Promise.reject(new StoreError("AccessDenied", "forbidden"));
  assert.equal(await checked(refusing), "AccessDenied: forbidden");
});
