import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import {
  type AgentReport,
  type BackupObject,
  type FetchedSnapshot,
  failure,
  progressIn,
  reportIn,
  reportText,
} from "./report.ts";

const object: BackupObject = {
  key: "backups/db/db/uid/20261122T110000Z-daily-0a1b2c3d.db",
  bytes: 20_512,
  storedBytes: 20_512,
  sha256: "0".repeat(64),
  revision: "9007199254740993",
  etcdVersion: "3.6.16",
  clusterID: "cdf818194e3a8c32",
  memberID: "8e9e05c52164694d",
  startedAt: "2026-11-22T11:00:00.000Z",
  completedAt: "2026-11-22T11:00:02.000Z",
  compression: "Zstd",
  encrypted: true,
  keyID: "0a1b2c3d",
};

/** From another tool: unknown fields are omitted. */
const plain: FetchedSnapshot = {
  key: "somebody/snapshot.db",
  bytes: 20_512,
  sha256: "0".repeat(64),
  revision: "9007199254740993",
  hasManifest: false,
};

test("a report is written and parsed unchanged", () => {
  const reports: readonly AgentReport[] = [
    { ok: true, kind: "backup", object },
    { ok: true, kind: "delete", deleted: false },
    { ok: true, kind: "fetch", snapshot: plain },
    {
      ok: true,
      kind: "fetch",
      snapshot: {
        ...plain,
        etcdVersion: "3.6.16",
        clusterID: "cdf818194e3a8c32",
        clusterUID: "b",
        backupUID: "c",
        hasManifest: true,
      },
    },
    { ok: true, kind: "finish", moved: true, revision: "1000000007", sha256: "ab" },
    { ok: true, kind: "finish", moved: false, revision: "1000000007", sha256: "ab" },
    { ok: true, kind: "verify", revision: "7", keys: 3, message: "3 keys at revision 7" },
    { ok: true, kind: "verify", revision: "7", keys: 3, hash: 670470652, message: "3 keys at revision 7" },
    { ok: true, kind: "list", backups: 3 },
    { ok: true, kind: "check" },
    failure("NoSuchBucket", "there is no bucket backups"),
    failure("AuthEnabled", "users are switched on"),
  ];
  for (const report of reports) {
    assert.deepEqual(reportIn(reportText(report)), report);
  }
});

test("a message is cut so that the report fits 4096 bytes, and its reason stays", () => {
  // In JSON: one byte, two of each kind, three, four, and six.
  const unit = fc.constantFrom("a", '"', "é", "€", "😀", "\u0000", "\ud800");
  fc.assert(
    fc.property(fc.string({ unit, minLength: 1, maxLength: 40 }), (part) => {
      const message = part.repeat(5_000 / part.length);
      const text = reportText(failure("SourceTLS", message));
      assert.ok(Buffer.byteLength(text) <= 4096);
      const report = reportIn(text);
      assert.ok(report?.ok === false && report.reason === "SourceTLS" && report.message.length > 500);
    }),
  );
});

test("text that is not a valid report is ignored", () => {
  const { sha256: _, ...incomplete } = object;
  for (const value of [
    undefined,
    null,
    [],
    { ok: "true" },
    { ok: true },
    { ok: true, kind: "backup", object: incomplete },
    { ok: true, kind: "backup", object: { ...object, compression: "Gzip" } },
    { ok: true, kind: "backup", object: { ...object, bytes: "1" } },
    { ok: true, kind: "fetch" },
    { ok: true, kind: "fetch", snapshot: { ...plain, clusterID: 1 } },
    { ok: true, kind: "fetch", snapshot: { ...plain, hasManifest: undefined } },
    { ok: true, kind: "finish", moved: true, sha256: "ab" },
    { ok: true, kind: "finish", moved: true, revision: "7" },
    { ok: true, kind: "finish", moved: true, revision: "7", sha256: 1 },
    { ok: true, kind: "verify", revision: "7", keys: "3", message: "" },
    { ok: true, kind: "somethingNew" },
    { ok: false, reason: "toString", message: "" },
    { ok: false, reason: "NoSpace" },
  ]) {
    assert.equal(reportIn(JSON.stringify(value) ?? ""), undefined);
  }
  assert.equal(reportIn('{"ok":true,"kind":"del'), undefined);
});

test("retry is derived from the reason, not from the report's text", () => {
  const text = JSON.stringify({ ok: false, reason: "WrongCluster", message: "another one", retry: true });
  assert.deepEqual(reportIn(text), { ok: false, reason: "WrongCluster", message: "another one", retry: false });
});

test("progress is parsed, and any other text is ignored", () => {
  const progress = { phase: "Copying", bytesRead: 1, bytesStored: 2, bytesExpected: 3, since: "2026-11-22T11:00:00Z" };
  assert.deepEqual(progressIn(JSON.stringify(progress)), progress);
  assert.equal(progressIn(JSON.stringify({ ...progress, bytesRead: "1" })), undefined);
  assert.equal(progressIn("not found"), undefined);
});
