import assert from "node:assert/strict";
import { test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { type ContentSource, contentOf } from "./content.ts";

const { signal } = new AbortController();
const small = { revision: 9n, dbSizeBytes: 256 * 1024 ** 2 };
const refused = () => Promise.reject(new OperatorError("EtcdRejected", "not for you"));

function sourceWith(change: Partial<ContentSource> = {}) {
  const asked: unknown[] = [];
  const source: ContentSource = {
    keys: (revision) => {
      asked.push(["keys", revision]);
      return Promise.resolve(0);
    },
    hashKV: (revision) => {
      asked.push(["hashKV", revision]);
      return Promise.resolve({ hash: 0, compactRevision: -1n });
    },
    authEnabled: () => Promise.resolve(true),
    ...change,
  };
  return { source, asked };
}

test("keys and hash are read from the member at the snapshot's revision", async () => {
  const { source, asked } = sourceWith();
  const content = { keys: 0, hashKV: { hash: 0, compactRevision: "-1" }, authEnabled: true };
  assert.deepEqual(await contentOf(source, small, signal), content);
  assert.deepEqual(asked, [
    ["keys", 9n],
    ["hashKV", 9n],
  ]);
});

test("a fact that the member does not report is omitted", async () => {
  for (const [name, rest] of [
    ["keys", ["hashKV", "authEnabled"]],
    ["hashKV", ["keys", "authEnabled"]],
    ["authEnabled", ["keys", "hashKV"]],
  ] as const) {
    const content = await contentOf(sourceWith({ [name]: refused }).source, small, signal);
    assert.deepEqual(Object.keys(content).sort(), [...rest].sort());
  }
});

test("no hash is requested from a member with a large database, which would block it", async () => {
  const { source, asked } = sourceWith();
  const { hashKV } = await contentOf(source, { ...small, dbSizeBytes: small.dbSizeBytes + 1 }, signal);
  assert.deepEqual([hashKV, asked], [undefined, [["keys", 9n]]]);
});

test("a cancellation and a programming error are thrown", async () => {
  const cancelled = new OperatorError("Cancelled", "stop");
  for (const thrown of [cancelled, new TypeError("a defect")]) {
    const { source } = sourceWith({ keys: () => Promise.reject(thrown) });
    await assert.rejects(contentOf(source, small, signal), thrown);
  }
});
