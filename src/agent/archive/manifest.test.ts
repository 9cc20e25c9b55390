import assert from "node:assert/strict";
import { test } from "vitest";
import { AgentError } from "../error.ts";
import { type Manifest, manifestKeyOf, manifestText, readManifest } from "./manifest.ts";

const manifest: Manifest = {
  formatVersion: 1,
  key: "db/20261122T110000Z.db.zst.enc",
  bytes: 20_512,
  sha256: "a".repeat(64),
  storedBytes: 1_234,
  storedSha256: "b".repeat(64),
  revision: "9007199254740993",
  cluster: { namespace: "default", name: "db", uid: "0a1b", id: "cdf818194e3a8c32" },
  memberID: "8e9e05c52164694d",
  etcdVersion: "3.6.16",
  startedAt: "2026-11-22T11:00:00.000Z",
  completedAt: "2026-11-22T11:00:02.000Z",
  compression: "Zstd",
  encryption: { algorithm: "AES-256-GCM-STREAM", keyID: "0a1b2c3d" },
  backupName: "daily",
  backupUID: "0a1b2c3d-0000",
  attempt: "1",
};

test("a manifest is written and read unchanged, at its object's key with a suffix", () => {
  assert.equal(manifestKeyOf(manifest.key), "db/20261122T110000Z.db.zst.enc.manifest.json");
  assert.deepEqual(readManifest(manifestText(manifest), manifest.key), manifest);
  const { encryption: _, ...plain } = manifest;
  const { name: _name, uid: _uid, ...external } = manifest.cluster;
  const foreign = { ...plain, cluster: external };
  assert.deepEqual(readManifest(manifestText(foreign), manifest.key), foreign);
});

test("a manifest with unknown fields is read, and the fields are ignored", () => {
  assert.deepEqual(readManifest(JSON.stringify({ ...manifest, verifiedAt: "today" }), manifest.key), manifest);
});

test("a manifest that was moved with its object describes the object beside it", () => {
  const read = readManifest(manifestText(manifest), "elsewhere/copy.db");
  assert.deepEqual(read, { ...manifest, key: "elsewhere/copy.db" });
});

test.each<[string, object, RegExp]>([
  ["another format", { formatVersion: 2 }, /formatVersion/],
  ["no key", { key: "" }, /key/],
  ["no size", { bytes: undefined }, /bytes/],
  ["a fractional size", { storedBytes: 0.5 }, /storedBytes/],
  ["an invalid hash", { sha256: "A".repeat(64) }, /sha256/],
  ["an invalid revision", { revision: "0" }, /revision/],
  ["an invalid cluster ID", { cluster: { namespace: "default", id: "0" } }, /cluster\.id/],
  ["another compression", { compression: "gzip" }, /compression/],
  ["another encryption", { encryption: { algorithm: "ROT13", keyID: "0a1b2c3d" } }, /encryption\.algorithm/],
  ["an invalid time", { completedAt: "yesterday" }, /completedAt/],
  ["an empty uid", { backupUID: "" }, /backupUID/],
])("a manifest with %s is refused, with the field in the message", (_what, change, message) => {
  const text = JSON.stringify({ ...manifest, ...change });
  assert.throws(
    () => readManifest(text, manifest.key),
    (thrown) =>
      thrown instanceof AgentError &&
      thrown.reason === "SnapshotCorrupt" &&
      thrown.message.startsWith(`the manifest ${manifest.key}.manifest.json is`) &&
      message.test(thrown.message),
  );
});

test("a truncated manifest is refused", () => {
  const half = manifestText(manifest).slice(0, 100);
  assert.throws(() => readManifest(half, manifest.key), /is not JSON/);
});
