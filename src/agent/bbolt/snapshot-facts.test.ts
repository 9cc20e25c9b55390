import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, test } from "vitest";
import { bboltFile, etcdBuckets, etcdSnapshot, metaPage, snapshotOf } from "#kit/etcd/bbolt.ts";
import { AgentError } from "../error.ts";
import { factsOf } from "./snapshot-facts.ts";

const home = mkdtempSync(join(tmpdir(), "bbolt-test-"));
afterAll(() => rmSync(home, { recursive: true }));

async function facts(bytes: Buffer) {
  const path = join(home, "snapshot.db");
  writeFileSync(path, bytes);
  return await factsOf(path);
}

async function refusal(bytes: Buffer): Promise<string> {
  const thrown = await facts(bytes).then(
    () => assert.fail("it was read"),
    (thrown: unknown) => thrown,
  );
  assert.ok(thrown instanceof AgentError && thrown.reason === "SnapshotCorrupt", String(thrown));
  return thrown.message;
}

describe("facts read from a snapshot", () => {
  test("include whether auth is enabled", async () => {
    for (const inline of [true, false]) {
      const read = async (authEnabled?: boolean) =>
        (await facts(etcdSnapshot({ ...(authEnabled === undefined ? {} : { authEnabled }) }, { inline }))).authEnabled;
      assert.deepEqual([await read(), await read(false), await read(true)], [false, false, true]);
    }
  });

  test("include disabled auth when the snapshot has users", async () => {
    const auth = new Map(Array.from({ length: 60 }, (_, at) => [Buffer.from(`b${at}`), Buffer.from("?")]));
    const { authEnabled } = await facts(bboltFile({ ...etcdBuckets(), auth }, { perPage: 4 }));
    assert.equal(authEnabled, false);
  });

  test("include the highest revision, for any shape of the bbolt tree", async () => {
    const shapes = fc.record({
      pageBytes: fc.constantFrom(1024, 4096, 16_384, 65_536),
      perPage: fc.integer({ min: 2, max: 40 }),
      inline: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.bigInt(2n, 2n ** 60n), { maxLength: 200 }),
        shapes,
        async (revisions, shape) => {
          const highest = revisions.reduce((a, b) => (a > b ? a : b), 1n);
          assert.deepEqual(await facts(etcdSnapshot({ revisions, authEnabled: true }, shape)), {
            revision: highest,
            authEnabled: true,
            clusterVersion: "3.6.0",
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  test("include the compaction revision when it is newer than every key", async () => {
    const read = async (compacted: object) => (await facts(etcdSnapshot({ revisions: [2, 7], compacted }))).revision;
    assert.deepEqual(
      [await read({ finished: 9 }), await read({ scheduled: 9 }), await read({ finished: 5 })],
      [9n, 9n, 7n],
    );
  });

  test("have no cluster version before members have agreed on one", async () => {
    const { cluster: _, ...buckets } = etcdBuckets();
    assert.deepEqual(await facts(snapshotOf(bboltFile(buckets))), { revision: 7n, authEnabled: false });
  });

  test("come from the newest valid meta page", async () => {
    const old = bboltFile(etcdBuckets({ revisions: [2] }));
    // The newer transaction wrote its pages after the older ones, and the second meta page.
    const next = old.length / 4096;
    const root = etcdBuckets({ revisions: [2, 5] });
    const pages = bboltFile(root).subarray(2 * 4096);
    assert.equal(pages.length, 4096, "all in one page");
    pages.writeBigUInt64LE(BigInt(next), 0);
    const both = Buffer.concat([
      old.subarray(0, 4096),
      metaPage(1, 4096, BigInt(next), next + 1, 8n),
      old.subarray(8192),
      pages,
    ]);
    assert.equal((await facts(both)).revision, 5n);
    both.writeUInt8(both.readUInt8(4096 + 40) ^ 1, 4096 + 40); // corrupt second meta page, as if it was being written
    assert.equal((await facts(both)).revision, 2n);
    both.writeUInt8(both.readUInt8(4096 + 40) ^ 1, 4096 + 40);
    both.writeUInt8(both.readUInt8(40) ^ 1, 40); // corrupt first meta page: the page size is found by trying
    assert.equal((await facts(both)).revision, 5n);
  });
});

describe("a snapshot is refused with a message for", () => {
  test("a file that is no etcd database", async () => {
    assert.match(await refusal(Buffer.alloc(0)), /no valid meta page/);
    assert.match(await refusal(Buffer.alloc(100_000, "etcd ")), /no valid meta page/);
    assert.match(await refusal(bboltFile({ things: new Map() })), /a bbolt database, but not one of etcd/);
  });

  test("a bbolt tree with a cycle", async () => {
    const bytes = bboltFile(etcdBuckets({ revisions: Array.from({ length: 100 }, (_, at) => at + 2) }), { perPage: 4 });
    // Each branch page gets itself as its children.
    for (let at = 2 * 4096; at < bytes.length; at += 4096) {
      if (bytes.readUInt16LE(at + 8) !== 1) continue;
      for (let child = 0; child < bytes.readUInt16LE(at + 10); child++) {
        bytes.writeBigUInt64LE(BigInt(at / 4096), at + 16 + child * 16 + 8);
      }
    }
    assert.match(await refusal(bytes), /form a cycle/);
  });

  test("a bbolt tree that points beyond the file", async () => {
    const [children, levels] = [100, 8];
    const one = bboltFile(etcdBuckets({ revisions: [2] }), { inline: false });
    const page = (id: number, count: number) => {
      const bytes = Buffer.alloc(4096);
      bytes.writeUInt16LE(count === 0 ? 2 : 1, 8);
      bytes.writeUInt16LE(count, 10);
      for (let child = 0; child < count; child++) bytes.writeBigUInt64LE(BigInt(id + 1), 16 + child * 16 + 8);
      return bytes;
    };
    const first = one.length / 4096;
    page(first - 1, children).copy(one, 2 * 4096); // the only page of the bucket `key`
    const more = Array.from({ length: levels }, (_, at) => page(first + at, at === levels - 1 ? 0 : children));
    assert.match(await refusal(Buffer.concat([one, ...more])), /its pages form a cycle, or point outside the file/);
  });

  test("a key that is longer than etcd's limit", async () => {
    const bytes = bboltFile(etcdBuckets({ revisions: [2] }), { inline: false });
    bytes.writeUInt32LE(2 ** 31, 2 * 4096 + 16 + 8);
    assert.match(await refusal(bytes), /a key or value has 2147483648 bytes, more than etcd writes/);
  });

  test("any other corruption, in bounded time", async () => {
    const whole = etcdSnapshot(
      { revisions: Array.from({ length: 100 }, (_, at) => at + 2) },
      { perPage: 4, inline: false },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 50 }),
        fc.nat(whole.length),
        async (changes, length) => {
          const bytes = Buffer.from(whole);
          for (const [at, value] of changes) bytes[at] = value;
          await facts(bytes.subarray(0, length)).catch((thrown: unknown) => {
            assert.ok(thrown instanceof AgentError && thrown.reason === "SnapshotCorrupt", String(thrown));
          });
        },
      ),
      { numRuns: 300 },
    );
  });
});
