import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import type { Compression } from "../task.ts";
import { readKey } from "./key.ts";
import { PackedSnapshot } from "./pack.ts";
import { encrypted } from "./seal.ts";

const SCRIPT = "docs/open-backup.mjs";
const CHUNK_BYTES = 64 * 1024;
const home = mkdtempSync(join(tmpdir(), "open-backup-"));
afterAll(() => rmSync(home, { recursive: true }));

async function* once(bytes: Buffer) {
  yield await Promise.resolve(bytes);
}

/** A snapshot of this many bytes of random data and its checksum. */
function snapshotOf(bytes: number): Buffer {
  const database = randomBytes(bytes);
  return Buffer.concat([database, createHash("sha256").update(database).digest()]);
}

async function packed(snapshot: Buffer, compression: Compression, keyText: Buffer): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const packing = { compression, key: readKey(keyText, "the key") };
  for await (const part of new PackedSnapshot(packing).pass(once(snapshot))) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

function opened(object: Buffer, keyText: Buffer) {
  const keyFile = join(home, "key");
  writeFileSync(keyFile, keyText);
  return spawnSync(process.execPath, [SCRIPT, keyFile], { input: object, maxBuffer: 2 ** 26 });
}

test("the script has at most forty lines", () => {
  assert.ok(readFileSync(SCRIPT, "utf8").trimEnd().split("\n").length <= 40);
});

describe("docs/open-backup.mjs opens an encrypted snapshot", () => {
  const bytes = randomBytes(32);
  const keys: readonly [string, Buffer][] = [
    ["bytes", bytes],
    ["hexadecimal", Buffer.from(`${bytes.toString("hex")}\n`)],
    ["base64", Buffer.from(bytes.toString("base64"))],
  ];
  test.each(keys)("with a key in %s", async (_, keyText) => {
    const snapshot = snapshotOf(1_024);
    const { stdout, stderr } = opened(await packed(snapshot, "Zstd", keyText), keyText);
    assert.ok(stdout.equals(snapshot), stderr.toString());
  });

  test.each([
    ["None", 512],
    ["None", 5 * CHUNK_BYTES],
    ["Zstd", 5 * CHUNK_BYTES],
  ] as const)("with compression %s and a database of %i bytes", async (compression, size) => {
    const snapshot = snapshotOf(size);
    const { stdout, stderr } = opened(await packed(snapshot, compression, bytes), bytes);
    assert.ok(stdout.equals(snapshot), stderr.toString());
  });

  test("that ends with a full chunk", async () => {
    const content = randomBytes(2 * CHUNK_BYTES);
    const parts: Uint8Array[] = [];
    for await (const part of encrypted(once(content), readKey(bytes, "the key"))) parts.push(Buffer.from(part));
    assert.ok(opened(Buffer.concat(parts), bytes).stdout.equals(content));
  });

  test("and fails on a changed byte, a missing end or another key", async () => {
    const object = await packed(snapshotOf(3 * CHUNK_BYTES), "None", bytes);
    const changed = Buffer.from(object);
    changed[CHUNK_BYTES + 100]! ^= 1;
    const wrongs: readonly [Buffer, Buffer][] = [
      [changed, bytes],
      [object.subarray(0, 55 + CHUNK_BYTES + 16), bytes],
      [object, randomBytes(32)],
    ];
    for (const [wrong, keyText] of wrongs) assert.notEqual(opened(wrong, keyText).status, 0);
  });
});
