import assert from "node:assert/strict";
import { test } from "vitest";
import { StoreError } from "./error.ts";
import { translator } from "./failure.ts";
import { PATIENCE, Requests } from "./patience.ts";
import { type Opened, read, replaced } from "./read.ts";

const never = new AbortController().signal;
const patience = { ...PATIENCE, attempts: 3, backoff: { firstMs: 0, maxMs: 0, factor: 2, jitter: 0 } };

/**
 * Reads an object of ten bytes over connections that break after every two.
 * @param versions version in the store at each attempt
 * @param refuses whether the store refuses a version other than the requested one, or sends it
 */
async function readWith(versions: readonly string[], refuses = true) {
  const asked: { from: number; version: string | undefined }[] = [];
  const open = (from: number, version: string | undefined): Promise<Opened> => {
    const now = versions[Math.min(asked.length, versions.length - 1)]!;
    asked.push({ from, version });
    if (refuses && version !== undefined && version !== now) throw replaced("get a");
    async function* body() {
      yield Buffer.from(now.repeat(2));
      await Promise.resolve();
      if (from < 8) throw new StoreError("Unreachable", "the connection broke");
    }
    return Promise.resolve({ version: now, bytes: 10 - from, body: body() });
  };
  const chunks: Uint8Array[] = [];
  try {
    const requests = new Requests(patience, translator([]));
    for await (const chunk of read("get a", 0, requests, never, open)) chunks.push(chunk);
  } catch (thrown) {
    assert.ok(thrown instanceof StoreError, String(thrown));
    return { asked, text: Buffer.concat(chunks).toString(), reason: thrown.reason };
  }
  return { asked, text: Buffer.concat(chunks).toString(), reason: undefined };
}

test("a read that breaks off requests the rest of the same object version", async () => {
  const { asked, text, reason } = await readWith(["A"]);
  assert.deepEqual({ text, reason }, { text: "AAAAAAAAAA", reason: undefined });
  assert.deepEqual(
    asked.map(({ from, version }) => `${from} ${version}`),
    ["0 undefined", "2 A", "4 A", "6 A", "8 A"],
  );
});

test("a read takes no bytes from a store that sends the whole object instead of the rest", async () => {
  const asked: number[] = [];
  const open = (from: number): Promise<Opened> => {
    asked.push(from);
    const begin = asked.length === 2 ? 0 : from;
    async function* body() {
      yield await Promise.resolve(Buffer.from("0123456789").subarray(begin, asked.length === 1 ? 4 : 10));
      if (asked.length === 1) throw new StoreError("Unreachable", "the connection broke");
    }
    return Promise.resolve({ version: "A", bytes: 10 - begin, body: body() });
  };
  const requests = new Requests(
    patience,
    translator([], () => undefined),
  );
  const chunks: Uint8Array[] = [];
  for await (const chunk of read("get a", 0, requests, never, open)) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), "0123456789");
  assert.deepEqual(asked, [0, 4, 4]);
});

test.each([
  ["refuses another version", true],
  ["ignores the requested version", false],
])("a read fails when the object is replaced during it, in a store that %s", async (_, refuses) => {
  const { text, reason } = await readWith(["A", "A", "B"], refuses);
  assert.deepEqual({ text, reason }, { text: "AAAA", reason: "NoSuchObject" });
});
