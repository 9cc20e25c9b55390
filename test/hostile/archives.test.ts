import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { SnapshotCheck } from "#agent/archive/integrity.ts";
import { readKey } from "#agent/archive/key.ts";
import { manifestKeyOf, readManifest } from "#agent/archive/manifest.ts";
import { PackedSnapshot } from "#agent/archive/pack.ts";
import { unpackedByLooks } from "#agent/archive/unknown.ts";
import { factsOf } from "#agent/bbolt/snapshot-facts.ts";
import { changesKey, folderOf } from "#agent/changes/layout.ts";
import { type Line, lineIn, lineText } from "#agent/changes/line.ts";
import { Packet } from "#agent/changes/packet.ts";
import { linesOf } from "#agent/changes/read.ts";
import { walk } from "#agent/changes/walk.ts";
import { AgentError } from "#agent/error.ts";
import { readStored } from "#agent/stored.ts";
import { etcdSnapshot, snapshotOf } from "#kit/etcd/bbolt.ts";
import { runChild } from "#kit/hostile/child.ts";
import { cpuMsOf, longestBlockMs, MAX_BLOCKED_MS, MAX_MEMORY_MB } from "#kit/hostile/cost.ts";
import { MemoryStore } from "#kit/servers/memory-store.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import type { StoreLocation } from "#objectstore/location.ts";
import { openStore } from "#objectstore/open.ts";
import { PATIENCE } from "#objectstore/patience.ts";

// An attacker with write access to the object store chooses every byte that a restore reads.
// Anything that is not a backup is refused by an AgentError.
// It blocks the event loop for less than 200 ms at a time, and its memory is limited.

const SEED = 20_261_128;
const RUNS = 400;
const signal = new AbortController().signal;
const key = readKey(Buffer.alloc(32, 7), "the file");
const home = mkdtempSync(join(tmpdir(), "hostile-archives-"));
afterAll(() => {
  rmSync(home, { recursive: true });
  removeTemporaryDirs();
});

async function* once(bytes: Uint8Array) {
  yield await Promise.resolve(bytes);
}

async function drained(source: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of source);
}

/** Bytes of which some are changed, left out or inserted. */
function damaged(whole: Buffer): fc.Arbitrary<Buffer> {
  const place = fc.nat(whole.length);
  return fc
    .array(
      fc.oneof(
        fc.tuple(fc.constant("set" as const), place, fc.uint8Array({ minLength: 1, maxLength: 8 })),
        fc.tuple(fc.constant("cut" as const), place, fc.uint8Array({ maxLength: 64 })),
        fc.tuple(fc.constant("insert" as const), place, fc.uint8Array({ minLength: 1, maxLength: 64 })),
        fc.tuple(fc.constant("end" as const), place, fc.constant(new Uint8Array())),
        fc.tuple(fc.constant("ones" as const), place, fc.constant(new Uint8Array(8).fill(255))),
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((changes) => changes.reduce(change, whole));
}

function change(
  bytes: Buffer,
  [how, at, part]: readonly ["set" | "cut" | "insert" | "end" | "ones", number, Uint8Array],
): Buffer {
  const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (how) {
    case "set":
    case "ones":
      return Buffer.concat([before, part.subarray(0, behind.length), behind.subarray(part.length)]);
    case "cut":
      return Buffer.concat([before, behind.subarray(part.length)]);
    case "insert":
      return Buffer.concat([before, part, behind]);
    case "end":
      return before;
  }
}

/** Reads differently damaged bytes many times: each time they are read or refused by an AgentError. */
async function fuzz(whole: Buffer, read: (bytes: Buffer) => unknown): Promise<void> {
  let refused = 0;
  const attempt = async (bytes: Buffer) => {
    const ms = await longestBlockMs(async () => {
      try {
        await read(bytes);
      } catch (thrown) {
        if (!(thrown instanceof AgentError)) throw thrown;
        refused++;
      }
    });
    expect(ms).toBeLessThan(MAX_BLOCKED_MS);
  };
  await fc.assert(fc.asyncProperty(damaged(whole), attempt), { numRuns: RUNS, seed: SEED });
  expect(refused).toBeGreaterThan(RUNS / 10);
}

const SNAPSHOT = etcdSnapshot({ revisions: [2, 3, 9], authEnabled: true });

async function packed(compression: "None" | "Zstd", isSealed: boolean): Promise<Buffer> {
  const pack = new PackedSnapshot({ compression, key: isSealed ? key : undefined });
  const parts: Uint8Array[] = [];
  for await (const part of pack.pass(once(SNAPSHOT))) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

const sha256 = createHash("sha256").update("x").digest("hex");
const MANIFEST = {
  formatVersion: 1,
  key: "a.db",
  bytes: 4128,
  sha256,
  storedBytes: 4128,
  storedSha256: sha256,
  revision: "9",
  cluster: { namespace: "foo", name: "my-etcd", uid: "u", id: "1a" },
  memberID: "2b",
  etcdVersion: "3.6.16",
  startedAt: "2026-01-01T00:00:00Z",
  completedAt: "2026-01-01T00:00:01Z",
  compression: "Zstd",
  encryption: { algorithm: "AES-256-GCM-STREAM", keyID: "01234567" },
  backupName: "b",
  backupUID: "uid",
  keys: 3,
  hashKV: { hash: 1, compactRevision: "1" },
  attempt: "one",
};

const AT = "2026-01-01T00:00:00.000Z";

async function changes(first: string, lines: readonly Line[], last: string): Promise<Buffer> {
  const packet = new Packet({ format: "etcd changes 1", clusterID: "1a", first });
  for (const line of lines) await packet.add(line);
  const { chunks } = await packet.close({ last, from: first, until: AT }, undefined);
  return Buffer.concat(chunks);
}

const LINES: readonly Line[] = [
  { lease: "7", ttl: 60 },
  { revision: "2", at: AT, after: AT },
  { put: "YQ==", value: "Yg==", lease: "7" },
  { revision: "3", at: AT },
  { delete: "YQ==" },
];
const CHANGES = await changes("2", LINES, "3");

const FIELDS = [
  "at",
  "after",
  "lease",
  "ttl",
  "put",
  "value",
  "delete",
  "revision",
  "until",
  "gap",
  "previous",
  "format",
  "first",
  "last",
];

/** An object with these lines. */
function objectOf(lines: readonly object[], closing: object): Buffer {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const sha256 = createHash("sha256").update(text).digest("hex");
  return zstdCompressSync(`${text}${JSON.stringify({ ...closing, sha256 })}\n`);
}

describe(`damaged data of an object store is read, or refused with an AgentError (seed ${SEED})`, () => {
  test.each([
    ["without compression and encryption", "None", false],
    ["compressed", "Zstd", false],
    ["encrypted", "None", true],
    ["compressed and encrypted", "Zstd", true],
  ] as const)("a snapshot %s", async (_what, compression, isSealed) => {
    const secret = isSealed ? key : undefined;
    await fuzz(await packed(compression, isSealed), (bytes) =>
      drained(unpackedByLooks(once(bytes), secret, new SnapshotCheck())),
    );
  });

  test("a manifest", async () => {
    await fuzz(Buffer.from(JSON.stringify(MANIFEST)), (bytes) => readManifest(bytes.toString(), "a.db"));
    expect(readManifest(JSON.stringify(MANIFEST), "a.db").key).toBe("a.db");
  });

  test("an etcd database", async () => {
    const path = join(home, "fuzz.db");
    await fuzz(SNAPSHOT, async (bytes) => {
      writeFileSync(path, bytes);
      await factsOf(path);
    });
  });

  test("an object of the change archive", async () => {
    await fuzz(CHANGES, (bytes) =>
      drained(linesOf("x", { store: { get: () => once(bytes) }, key: undefined, signal })),
    );
  });

  test("a line of the change archive with a wrong field", async () => {
    const field = fc.constantFrom(...FIELDS);
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom(null, "2026-99-01T00:00:00Z", "0Z", "-1", "zz"),
    );
    const base = {
      clusterID: "1a",
      revision: 1n,
      startedMs: Date.parse(AT) + 86_400_000,
      atMs: Date.parse(AT) + 86_400_000,
    };
    const folder = folderOf("p", { clusterID: "1a", number: 0 });
    const [firstKey, key] = [changesKey(folder, 0n), changesKey(folder, 2n)];
    const began = { format: "etcd changes 1", clusterID: "1a", first: "0", gap: { reason: "Began", message: "" } };
    const first = objectOf([began], { last: "1", from: "2", until: AT });
    const previous = { key: firstKey, sha256: createHash("sha256").update(first).digest("hex") };
    const lines = [{ format: "etcd changes 1", clusterID: "1a", first: "2", previous }, ...LINES];
    const closing = { last: "3", from: "2", until: AT };
    const walked = async (object: Buffer) => {
      const store = new MemoryStore();
      await store.put(firstKey, once(first), { signal });
      await store.put(key, once(object), { signal });
      const revisions: bigint[] = [];
      const access = { store, prefix: "p", key: undefined, signal };
      for await (const { revision, atMs, changes } of walk(base, access, () => false)) {
        expect([Number.isNaN(atMs), changes.length > 0]).toEqual([false, true]);
        revisions.push(revision);
      }
      return revisions;
    };
    expect(await walked(objectOf(lines, closing))).toEqual([2n, 3n]);
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(lines.length), field, value, async (n, name, given) => {
        const wrong = [...lines, closing].map((line, at) => (at === n ? { ...line, [name]: given } : line));
        try {
          await walked(objectOf(wrong.slice(0, -1), wrong.at(-1) ?? {}));
        } catch (thrown) {
          if (!(thrown instanceof AgentError)) throw thrown;
          refused++;
        }
      }),
      { numRuns: 2 * RUNS, seed: SEED },
    );
    expect(refused).toBeGreaterThan(RUNS / 2);
  });
});

describe("oversized input", () => {
  test.each([
    ["one line", /a line of more than 33554432 bytes/],
    ["lines", /more than 536870912 bytes when it is decompressed/],
    ["zeros", /a line of more than/],
  ])("an endless archive of %s is refused within the memory limit", async (filling, says) => {
    const { stdout, code, peakMb, stderr } = await runChild("test/kit/hostile/archive-reader.ts", [filling]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(says);
    expect(peakMb).toBeLessThan(MAX_MEMORY_MB);
  });

  test("the longest allowed line of an archive blocks the event loop for less than 200 ms", async () => {
    const long = 32 * 1024 ** 2 - 100;
    const lines = [
      lineText({ put: "YQ==", value: "A".repeat(long) }),
      `{"put":"YQ==","value":"","x":[${"[],".repeat(long / 3)}[]]}`,
      `{"put":"YQ==","value":"",${'"a":1,'.repeat(long / 6)}"b":1}`,
      `${"[".repeat(long)}`,
      `{"put":"${"\\u0061".repeat(long / 6)}","value":""}`,
    ];
    for (const text of lines) {
      const ms = await cpuMsOf(() => {
        try {
          lineIn(text.trimEnd());
        } catch (thrown) {
          if (!(thrown instanceof AgentError)) throw thrown;
        }
      });
      expect(ms).toBeLessThan(MAX_BLOCKED_MS);
    }
  });

  test("an endless manifest is refused after 64 KiB", async () => {
    const store = new MemoryStore();
    let given = 0;
    const endless = async function* () {
      for (;;) {
        given += 65_536;
        yield await Promise.resolve(Buffer.alloc(65_536, " "));
      }
    };
    const get = (wanted: string) => (wanted === manifestKeyOf("a.db") ? endless() : once(SNAPSHOT));
    const reading = readStored(Object.assign(store, { get }), "a.db", signal);
    await expect(reading).rejects.toThrow(/more than 65536 bytes, too many for a manifest/);
    expect(given).toBeLessThan(200_000);
  });

  test.each(["etcdVersion", "backupUID", "backupName", "attempt", "key"])(
    "a manifest with a long %s is refused, because the kubelet would cut the report",
    (field) => {
      const text = JSON.stringify({ ...MANIFEST, [field]: "9".repeat(5_000) });
      expect(() => readManifest(text, "a.db")).toThrow(AgentError);
    },
  );

  test("a database with a cycle of pages is refused", async () => {
    // A branch with 65,535 children, each of which is the branch itself.
    const database = Buffer.from(SNAPSHOT);
    const path = join(home, "circle.db");
    const pages = Math.floor(database.length / 4096);
    for (let page = 2; page < pages; page++) {
      database.writeUInt16LE(0x01, page * 4096 + 8);
      database.writeUInt16LE(0xffff, page * 4096 + 10);
    }
    const grown = Buffer.concat([database, Buffer.alloc(2 * 1024 ** 2)]);
    for (let page = 2; page < pages; page++) {
      for (let n = 0; n < 200; n++) grown.writeBigUInt64LE(BigInt(page), page * 4096 + 16 + n * 16 + 8);
    }
    writeFileSync(path, snapshotOf(grown));
    const cpuMs = await cpuMsOf(() => expect(factsOf(path)).rejects.toThrow(AgentError));
    expect(cpuMs).toBeLessThan(5_000);
  });
});

describe("listing objects", () => {
  let page = (_request: string): string => "";
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    const text = page(request.url ?? "");
    response
      .writeHead(200, { "content-type": text.startsWith("<") ? "application/xml" : "application/json" })
      .end(text);
  });
  beforeEach(async () => {
    asked = 0;
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    onTestFinished(async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    });
  });

  const listed = async (store: StoreLocation["store"]) => {
    const endpoint = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    const locations: Readonly<Record<string, { location: StoreLocation; files?: Record<string, string> }>> = {
      gcs: { location: { store: "gcs", bucket: "backups", endpoint } },
      s3: {
        location: { store: "s3", bucket: "backups", endpoint, pathStyle: true },
        files: { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" },
      },
      azure: {
        location: { store: "azure", account: "account", container: "backups", endpoint: `${endpoint}/account` },
        files: { AZURE_STORAGE_KEY: Buffer.from("key").toString("base64") },
      },
    };
    const { location, files } = locations[store]!;
    const directory = files === undefined ? {} : { credentialsDir: credentialsDir(files) };
    const opened = await openStore(location, { ...directory, patience: { ...PATIENCE, attempts: 1, giveUpMs: 0 } });
    await drained(opened.list("", { signal }));
  };

  test.each<[StoreLocation["store"], string]>([
    ["gcs", JSON.stringify({ items: [], nextPageToken: "again" })],
    [
      "s3",
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken></ListBucketResult>",
    ],
    ["azure", '<?xml version="1.0"?><EnumerationResults><Blobs/><NextMarker>again</NextMarker></EnumerationResults>'],
  ])("in %s ends with an error when the server sends the same page again", async (store, text) => {
    page = () => text;
    await expect(listed(store)).rejects.toThrow(/sends the same page again/);
    expect(asked).toBe(2);
  });

  test("ends with an error after 10,000 pages when the server never sends a last page", async () => {
    page = () => JSON.stringify({ items: [], nextPageToken: `${asked}` });
    await expect(listed("gcs")).rejects.toThrow(/more than 10000 pages/);
    expect(asked).toBe(10_000);
  });

  test("ends with an error when the server sends a page of more than 16 MiB", async () => {
    page = () => `{"items":[${" ".repeat(17 * 1024 ** 2)}]}`;
    await expect(listed("gcs")).rejects.toThrow(/answers more than 16777216 bytes/);
  });
});
