import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, test } from "vitest";
import { AgentError } from "../error.ts";
import type { FailureReason } from "../report.ts";
import { type EncryptionKey, readKey } from "./key.ts";
import { type Measures, PackedSnapshot, type Packing, unpacked } from "./pack.ts";

const key = readKey(Buffer.alloc(32, 7), "the file");
const PACKINGS: readonly (Packing & { readonly name: string })[] = [
  { name: "as etcd sent it", compression: "None", key: undefined },
  { name: "compressed", compression: "Zstd", key: undefined },
  { name: "encrypted", compression: "None", key },
  { name: "compressed and encrypted", compression: "Zstd", key },
];

/** A database and its checksum, as etcd sends them. @param blocks number of 512-byte blocks */
function snapshotOf(blocks: number, fill: (bytes: Buffer) => void = (bytes) => bytes.fill("etcd ")): Buffer {
  const database = Buffer.alloc(blocks * 512);
  fill(database);
  return Buffer.concat([database, createHash("sha256").update(database).digest()]);
}

/** Repeats these chunk sizes. */
async function* chunks(bytes: Buffer, sizes: readonly number[]) {
  let from = 0;
  for (let turn = 0; from < bytes.length; turn++) {
    const to = from + (sizes[turn % sizes.length] ?? 1);
    await Promise.resolve();
    yield Buffer.from(bytes.subarray(from, to));
    from = to;
  }
}

async function gathered(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

async function stored(snapshot: Buffer, packing: Packing, sizes = [10_000]) {
  const packed = new PackedSnapshot(packing);
  const object = await gathered(packed.pass(chunks(snapshot, sizes)));
  return { object, measures: packed.measures() };
}

function refused(reason: FailureReason, message = /./): (thrown: unknown) => boolean {
  return (thrown) => thrown instanceof AgentError && thrown.reason === reason && message.test(thrown.message);
}

const blocks = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.constantFrom(127, 128, 129, 256));
const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 10_000, max: 200_000 })), {
  minLength: 1,
  maxLength: 4,
});
const fill = fc.constantFrom(
  (bytes: Buffer) => bytes.fill("etcd "),
  (bytes: Buffer) => randomBytes(bytes.length).copy(bytes),
);

describe.each(PACKINGS)("a snapshot stored $name", ({ compression, key }) => {
  const packing = { compression, key };

  test("is read back unchanged, in chunks of any size", async () => {
    await fc.assert(
      fc.asyncProperty(blocks, fill, sizes, sizes, async (count, filled, there, back) => {
        const snapshot = snapshotOf(count, filled);
        const { object, measures } = await stored(snapshot, packing, there);
        assert.deepEqual(measures, {
          bytes: snapshot.length,
          sha256: createHash("sha256").update(snapshot).digest("hex"),
          storedBytes: object.length,
          storedSha256: createHash("sha256").update(object).digest("hex"),
        });
        assert.ok(snapshot.equals(await gathered(unpacked(chunks(object, back), packing, measures))));
      }),
      { numRuns: 40 },
    );
  });

  test("is refused after any byte was flipped, cut off or added", async () => {
    const cases = await Promise.all(
      [1, 128, 300].map((count) =>
        stored(
          snapshotOf(count, (b) => randomBytes(b.length).copy(b)),
          packing,
        ),
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...cases),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (given, at, bits) => {
          const place = at % given.object.length;
          const flipped = Buffer.from(given.object);
          flipped.writeUInt8((flipped[place] ?? 0) ^ bits, place);
          const longer = Buffer.concat([given.object, Buffer.alloc(1 + (at % 600), bits)]);
          for (const wrong of [flipped, given.object.subarray(0, place), longer]) {
            const reading = gathered(unpacked(chunks(wrong, [30_000]), packing, given.measures));
            // A flipped byte may be in the key's ID.
            await assert.rejects(reading, (thrown) => refused("SnapshotCorrupt")(thrown) || refused("BadKey")(thrown));
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  test("is refused when its manifest has another size or hash", async () => {
    const one = await stored(snapshotOf(300), packing);
    const other = await stored(
      snapshotOf(300, (bytes) => bytes.fill("other")),
      packing,
    );
    const reading = gathered(unpacked(chunks(one.object, [30_000]), packing, other.measures));
    await assert.rejects(reading, refused("SnapshotCorrupt", /manifest/));
    const { bytes, storedBytes } = one.measures;
    const changes: readonly Partial<Measures>[] = [
      ...[bytes - 1, bytes + 1].map((wrong) => ({ bytes: wrong })),
      ...[storedBytes - 1, storedBytes + 1].map((wrong) => ({ storedBytes: wrong })),
      { sha256: other.measures.sha256 },
      { storedSha256: other.measures.storedSha256 },
    ];
    for (const change of changes) {
      const wrong = gathered(unpacked(chunks(one.object, [999]), packing, { ...one.measures, ...change }));
      await assert.rejects(wrong, refused("SnapshotCorrupt"), JSON.stringify(change));
    }
  });

  test("is not stored when etcd's stream is truncated or changed", async () => {
    const right = snapshotOf(200);
    const flipped = Buffer.from(right);
    flipped.writeUInt8(1 ^ (right[70_000] ?? 0), 70_000);
    const wrongTrailer = Buffer.from(right);
    wrongTrailer.writeUInt8(1 ^ (right.at(-1) ?? 0), right.length - 1);
    const cases: [Buffer, RegExp][] = [
      [flipped, /changed in transit/],
      [wrongTrailer, /changed in transit/],
      [right.subarray(0, -32), /cut off, or is no snapshot/],
      [right.subarray(0, -512), /changed in transit/],
      [right.subarray(0, 32), /cut off/],
      [Buffer.alloc(0), /0 bytes cannot be a database/],
    ];
    for (const [snapshot, message] of cases) {
      for (const size of [1_000, 77, snapshot.length + 1]) {
        await assert.rejects(stored(snapshot, packing, [size]), refused("SnapshotCorrupt", message));
      }
    }
  });

  test("passes on an error of the source, and ends the source when its reader stops", async () => {
    const broken = new Error("the connection is gone");
    async function* breaking() {
      yield* chunks(snapshotOf(300), [9_000]);
      throw broken;
    }
    await assert.rejects(gathered(new PackedSnapshot(packing).pass(breaking())), (thrown) => thrown === broken);

    let isEnded = false;
    async function* endless() {
      try {
        for (;;) {
          await Promise.resolve();
          yield randomBytes(100_000);
        }
      } finally {
        isEnded = true;
      }
    }
    let taken = 0;
    for await (const part of new PackedSnapshot(packing).pass(endless())) {
      taken += part.length;
      if (taken > 300_000) break;
    }
    await new Promise((done) => setImmediate(done));
    assert.ok(isEnded);
  });

  test("is read at most 2 MB ahead of its reader", async () => {
    let read = 0;
    async function* plenty() {
      for (;;) {
        await Promise.resolve();
        read += 100_000;
        yield randomBytes(100_000);
      }
    }
    let taken = 0;
    for await (const part of new PackedSnapshot(packing).pass(plenty())) {
      taken += part.length;
      await new Promise((done) => setImmediate(done));
      assert.ok(read - taken < 2_000_000, `${read} bytes were read, ${taken} taken`);
      if (taken > 20_000_000) break;
    }
  });
});

test("a compressed object can be read with zstd, and an object that zstd compressed can be restored", async () => {
  const snapshot = snapshotOf(300);
  const packing: Packing = { compression: "Zstd", key: undefined };
  const { object, measures } = await stored(snapshot, packing);
  assert.ok(zstdDecompressSync(object).equals(snapshot));
  assert.ok(object.length < snapshot.length / 100);
  const theirs = zstdCompressSync(snapshot);
  const expected = {
    ...measures,
    storedBytes: theirs.length,
    storedSha256: createHash("sha256").update(theirs).digest("hex"),
  };
  assert.ok(snapshot.equals(await gathered(unpacked(chunks(theirs, [100]), packing, expected))));
});

describe("an encrypted snapshot", () => {
  const packing: Packing = { compression: "None", key };
  const CHUNK = 65_536 + 16;
  const HEADER = 55;

  test("is refused with another key, with both key IDs in the message", async () => {
    const { object, measures } = await stored(snapshotOf(1), packing);
    const other: EncryptionKey = readKey(randomBytes(32), "the file");
    const reading = gathered(unpacked(chunks(object, [100]), { ...packing, key: other }, measures));
    await assert.rejects(reading, refused("BadKey", new RegExp(`${key.id}.*${other.id}`)));
    // Even a key with the same ID does not decrypt it.
    const alike = gathered(unpacked(chunks(object, [100]), { ...packing, key: { ...other, id: key.id } }, measures));
    await assert.rejects(alike, refused("SnapshotCorrupt", /chunk 0/));
  });

  test("has other ciphertext each time it is stored", async () => {
    const snapshot = snapshotOf(300);
    const [one, other] = [await stored(snapshot, packing), await stored(snapshot, packing)];
    assert.ok(!one.object.subarray(HEADER, HEADER + 64).equals(other.object.subarray(HEADER, HEADER + 64)));
  });

  test("is refused with swapped, repeated, missing or foreign chunks, with the chunk's number", async () => {
    const snapshot = snapshotOf(1_000, (bytes) => randomBytes(bytes.length).copy(bytes));
    const { object, measures } = await stored(snapshot, packing);
    const { object: other } = await stored(snapshot, packing);
    const header = object.subarray(0, HEADER);
    const chunk = (n: number, of = object) => of.subarray(HEADER + n * CHUNK, HEADER + (n + 1) * CHUNK);
    const count = Math.ceil((object.length - HEADER) / CHUNK);
    assert.equal(count, 8);
    const all = Array.from({ length: count }, (_, n) => chunk(n));
    const [first, second, ...rest] = all as [Buffer, Buffer, ...Buffer[]];
    const cases: [readonly Buffer[], RegExp][] = [
      [[second, first, ...rest], /chunk 0/],
      [[first, first, ...rest], /chunk 1/],
      [[first, ...rest], /chunk 1/],
      [[first, chunk(1, other), ...rest], /chunk 1/],
      [all.slice(0, -1), /chunk 6 .*cut off/],
      [all.slice(0, 1), /chunk 0 .*cut off/],
      [[], /inside or right after its header/],
      [[...all, first], /chunk 7/],
    ];
    for (const [parts, message] of cases) {
      const wrong = Buffer.concat([header, ...parts]);
      const expected = { ...measures, storedBytes: Math.max(wrong.length, measures.storedBytes) };
      const reading = gathered(unpacked(chunks(wrong, [50_000]), packing, expected));
      await assert.rejects(reading, refused("SnapshotCorrupt", message));
    }
  });
});

describe("an encryption key", () => {
  const bytes = randomBytes(32);
  test.each([
    ["bytes", bytes],
    ["hexadecimal text", Buffer.from(`${bytes.toString("hex")}\n`)],
    ["base64 text", Buffer.from(` ${bytes.toString("base64")}\n`)],
    ["base64 text without padding", Buffer.from(bytes.toString("base64url"))],
  ])("is read from %s", (_form, content) => {
    const read = readKey(content, "the file");
    assert.ok(read.bytes.equals(bytes));
    assert.match(read.id, /^[0-9a-f]{8}$/);
    assert.equal(read.id, readKey(bytes, "").id);
  });

  test("has an ID that depends only on its bytes", () => {
    assert.equal(readKey(Buffer.alloc(32, 7), "").id, "b8075323");
  });

  test.each([[""], ["secret"], ["s".repeat(33)], [`${"0".repeat(63)}g`], [`${"A".repeat(42)}==`], ["0".repeat(128)]])(
    "is refused when its file holds %j",
    (text) => {
      const where = "/secrets/key/passphrase";
      const isRefused = (thrown: unknown) =>
        refused("BadKey", new RegExp(`^${where} holds ${text.length} bytes .* it must be 32 bytes`))(thrown) &&
        !String(thrown).includes("secret ");
      assert.throws(() => readKey(Buffer.from(text), where), isRefused);
    },
  );
});
