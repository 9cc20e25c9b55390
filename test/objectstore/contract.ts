import { describe, expect, test } from "vitest";
import { manifestKeyOf, manifestText } from "#agent/archive/manifest.ts";
import { checkStored } from "#agent/check.ts";
import { asAgentError } from "#agent/copy.ts";
import { StoreError, type StoreReason } from "#objectstore/error.ts";
import type { StoreLocation } from "#objectstore/location.ts";
import { openStore } from "#objectstore/open.ts";
import { PATIENCE, type Patience } from "#objectstore/patience.ts";
import type { ObjectStore } from "#objectstore/store.ts";
import { bodyOf, bytesOf, endless, failing, MIB, read } from "./bodies.ts";
import { memoryOf } from "./memory.ts";

// The contract of every store (src/objectstore/store.ts), run against each of them on a real server.

/** An empty bucket, container or directory, with its credentials. */
export interface Place {
  readonly location: StoreLocation;
  readonly credentialsDir?: string;
}

export async function openPlace({ location, ...rest }: Place, patience = PATIENCE): Promise<ObjectStore> {
  return await openStore(location, { ...rest, patience });
}

/** Parts of a real server that the tests of the contract need. */
export interface Fixture {
  place(): Promise<Place>;
  /** Unfinished uploads in the place that was opened last, if the store can list them. */
  unfinished(): Promise<readonly string[]>;
  /** Size of an upload's part. */
  readonly partBytes: number;
  readonly secrets: readonly string[];
}

/** For a server that answers, however busy the machine is: retries follow at once. */
export const BRISK: Patience = {
  ...PATIENCE,
  attempts: 5,
  backoff: { firstMs: 20, maxMs: 20, factor: 2, jitter: 0 },
};

/** For a server that does not answer: calls give up soon. */
export const IMPATIENT: Patience = {
  connectMs: 1_000,
  answerMs: 1_000,
  commitMs: 1_000,
  idleMs: 1_000,
  slowestBytesPerSecond: 16 * MIB,
  attempts: 2,
  giveUpMs: 5_000,
  backoff: { firstMs: 20, maxMs: 20, factor: 2, jitter: 0 },
  cleanUpMs: 2_000,
};

/** Size of the object that a process writes and reads while its memory is measured. */
const MEMORY_MIB = 200;
/** Two parts of 8 MiB and uncollected garbage; 28 to 33 MB are measured. An object kept in memory would take 210 MB. */
const MOST_GROWTH_MB = 60;
/** Key of a stored backup, and its manifest. */
const BACKUP = "shop/orders/uid/20261122T030000Z-daily-0a1b2c3d.db";
const MANIFEST = manifestText({
  formatVersion: 1,
  key: BACKUP,
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
  attempt: "1",
});

/** Time for a busy machine. */
const PATIENT = { timeout: 240_000 };

/** Texts of all errors of stores: none of them may contain a secret. */
const errorTexts: string[] = [];

/** Checks the error's type, records its texts, and returns its reason. */
export async function refused(work: Promise<unknown>): Promise<StoreReason> {
  const thrown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(thrown instanceof StoreError)) throw thrown ?? new Error("the call was not refused");
  errorTexts.push(thrown.message, String(thrown.stack), JSON.stringify(thrown, Object.getOwnPropertyNames(thrown)));
  expect(thrown.cause).toBeUndefined();
  return thrown.reason;
}

export const never = new AbortController().signal;
const OPTIONS = { signal: never };

export function storeContract(name: string, fixture: () => Fixture): void {
  const opened = async () => openPlace(await fixture().place());

  describe(`${name} store`, () => {
    test("an object of any size is stored with its size and metadata", async () => {
      const store = await opened();
      const { partBytes } = fixture();
      for (const size of [0, 1, partBytes - 1, partBytes, partBytes + 1, 2 * partBytes + 12_345]) {
        const bytes = bytesOf(size);
        const metadata = { "backup-uid": `uid-${size}` };
        expect(await store.put(`sizes/${size}`, bodyOf(bytes, 100_003), { ...OPTIONS, metadata })).toEqual({
          bytes: size,
        });
        const found = await store.head(`sizes/${size}`, OPTIONS);
        expect(found).toMatchObject({ key: `sizes/${size}`, bytes: size, metadata: { "backup-uid": `uid-${size}` } });
        expect(Object.keys(found?.metadata ?? {})).not.toContain("put-id");
        expect(Math.abs(Date.now() - (found?.modified.getTime() ?? 0))).toBeLessThan(60_000);
        expect((await read(store.get(`sizes/${size}`, OPTIONS))).equals(bytes)).toBe(true);
      }
      expect(await fixture().unfinished()).toEqual([]);
    });

    test("an object can be read from any offset, and a read beyond its end is empty", async () => {
      const store = await opened();
      const bytes = bytesOf(300_000);
      await store.put("from", bodyOf(bytes), OPTIONS);
      for (const from of [0, 1, 123_456, 299_999, 300_000, 300_001]) {
        const rest = await read(store.get("from", { ...OPTIONS, from }));
        expect(rest.equals(bytes.subarray(from))).toBe(true);
      }
    });

    test("keys may contain any printable characters, with / as separator", async () => {
      const store = await opened();
      const keys = [
        "a b/c d",
        "ü/漢字/🙂",
        "plus+and%25/a&b=c?d#e",
        "q'u\"o<t>e;:,@$!*()[]{}|^~`",
        "..a/b..",
        "-/_./x",
      ];
      for (const key of keys) await store.put(key, bodyOf(Buffer.from(key)), OPTIONS);
      const listed: string[] = [];
      for await (const { key } of store.list("", OPTIONS)) listed.push(key);
      expect(listed.sort()).toEqual([...keys].sort());
      for (const key of keys) {
        expect((await read(store.get(key, OPTIONS))).toString()).toBe(key);
        expect(await store.head(key, OPTIONS)).toMatchObject({ key, bytes: Buffer.byteLength(key) });
        await store.delete(key, OPTIONS);
        expect(await store.head(key, OPTIONS)).toBeUndefined();
      }
    });

    test("a key that some stores do not support is refused with InvalidLocation", async () => {
      const store = await opened();
      for (const key of ["", "/a", "a/", "a//b", "../a", "a/./b", "a\nb", "a\\b", "a".repeat(1025)]) {
        expect(await refused(store.put(key, bodyOf(bytesOf(1)), OPTIONS))).toBe("InvalidLocation");
        expect(await refused(read(store.get(key, OPTIONS)))).toBe("InvalidLocation");
        expect(await refused(store.head(key, OPTIONS))).toBe("InvalidLocation");
        expect(await refused(store.delete(key, OPTIONS))).toBe("InvalidLocation");
      }
    });

    test("a list has exactly the keys that begin with the prefix", async () => {
      const store = await opened();
      for (const key of ["a/b/1", "a/b/2", "a/bc", "a/c/1", "ab"]) await store.put(key, bodyOf(bytesOf(7)), OPTIONS);
      const listed = async (prefix: string) => {
        const keys: string[] = [];
        for await (const { key, bytes } of store.list(prefix, OPTIONS)) keys.push(`${key} ${bytes}`);
        return keys.sort();
      };
      expect(await listed("a/b")).toEqual(["a/b/1 7", "a/b/2 7", "a/bc 7"]);
      expect(await listed("a/b/")).toEqual(["a/b/1 7", "a/b/2 7"]);
      expect(await listed("")).toHaveLength(5);
      expect(await listed("nothing/here/")).toEqual([]);
    });

    test("a missing object is reported as NoSuchObject, and deleting it succeeds", async () => {
      const store = await opened();
      expect(await store.head("absent", OPTIONS)).toBeUndefined();
      expect(await refused(read(store.get("absent", OPTIONS)))).toBe("NoSuchObject");
      await store.delete("absent", OPTIONS);
      await store.delete("absent/below", OPTIONS);
    });

    test("a backup without its object or manifest is gone, and is found again after it was copied back", async () => {
      const store = await opened();
      const put = (key: string, text: string) => store.put(key, bodyOf(Buffer.from(text)), OPTIONS);
      const check = async (expect = { backupUID: "ours" }) =>
        await checkStored({ key: BACKUP, expect }, store, never).then(
          () => "stored",
          (thrown: unknown) => asAgentError(thrown).reason,
        );
      const manifest = manifestKeyOf(BACKUP);
      await put(BACKUP, "12345");
      await put(manifest, MANIFEST);
      expect(await check()).toBe("stored");
      expect(await check({ backupUID: "theirs" })).toBe("SnapshotCorrupt");
      await store.delete(BACKUP, OPTIONS);
      expect(await check()).toBe("NoSuchObject");
      await put(BACKUP, "1234");
      expect(await check()).toBe("SnapshotCorrupt");
      await store.delete(BACKUP, OPTIONS);
      await put(BACKUP, "12345");
      expect(await check()).toBe("stored");
      await store.delete(manifest, OPTIONS);
      expect(await check()).toBe("NoSuchObject");
      await store.close();
    });

    test("writing to the key of an existing object is refused with ObjectExists, for small and large objects", async () => {
      const store = await opened();
      const { partBytes, unfinished } = fixture();
      for (const size of [5, 2 * partBytes + 5]) {
        const first = bytesOf(size);
        await store.put(`once/${size}`, bodyOf(first), OPTIONS);
        expect(await refused(store.put(`once/${size}`, bodyOf(bytesOf(size)), OPTIONS))).toBe("ObjectExists");
        expect((await read(store.get(`once/${size}`, OPTIONS))).equals(first)).toBe(true);
      }
      expect(await unfinished()).toEqual([]);
    });

    test("exactly one of several concurrent writers of a key succeeds, with its own bytes and metadata", async () => {
      const store = await opened();
      const { partBytes, unfinished } = fixture();
      for (const size of [5, 5, 5, 2 * partBytes + 5]) {
        const key = `race/${size}-${Math.random()}`;
        const bodies = [bytesOf(size), bytesOf(size), bytesOf(size)];
        const outcomes = await Promise.all(
          bodies.map((bytes, writer) => {
            const put = store.put(key, bodyOf(bytes, 1_000_000), { ...OPTIONS, metadata: { writer: String(writer) } });
            return put.then(() => "won").catch(() => refused(put));
          }),
        );
        expect(outcomes.toSorted()).toEqual(["ObjectExists", "ObjectExists", "won"]);
        const winner = outcomes.indexOf("won");
        expect((await store.head(key, OPTIONS))?.metadata).toMatchObject({ writer: String(winner) });
        expect((await read(store.get(key, OPTIONS))).equals(bodies[winner]!)).toBe(true);
      }
      expect(await unfinished()).toEqual([]);
    });

    test("a write with a failing body throws the body's error and leaves no object", async () => {
      const store = await opened();
      const { partBytes, unfinished } = fixture();
      for (const size of [0, 10, 2 * partBytes + 10]) {
        const put = store.put(`failing/${size}`, failing(bytesOf(size)), OPTIONS);
        await expect(put).rejects.toThrow("the source broke");
        expect(await store.head(`failing/${size}`, OPTIONS)).toBeUndefined();
      }
      for await (const { key } of store.list("", OPTIONS)) throw new Error(`${key} is there`);
      expect(await unfinished()).toEqual([]);
    });

    test("an aborted call ends at once and leaves no object, even while its body is stuck", async () => {
      const store = await opened();
      const { partBytes, unfinished } = fixture();
      for (const size of [0, 10, 2 * partBytes + 10]) {
        const controller = new AbortController();
        const hanging = endless(bytesOf(size), () => controller.abort());
        const sinceMs = performance.now();
        expect(await refused(store.put(`aborted/${size}`, hanging, { signal: controller.signal }))).toBe("Aborted");
        expect(performance.now() - sinceMs).toBeLessThan(10_000);
        expect(await store.head(`aborted/${size}`, OPTIONS)).toBeUndefined();
      }
      const gone = AbortSignal.abort();
      expect(await refused(store.put("aborted", bodyOf(bytesOf(1)), { signal: gone }))).toBe("Aborted");
      expect(await refused(store.head("aborted", { signal: gone }))).toBe("Aborted");
      expect(await refused(read(store.get("aborted", { signal: gone })))).toBe("Aborted");
      expect(await refused(store.delete("aborted", { signal: gone }))).toBe("Aborted");
      expect(await unfinished()).toEqual([]);
    });

    test("memory use does not grow with the size of the object", PATIENT, async () => {
      const { baseMb, putMb, getMb } = await memoryOf(await fixture().place(), MEMORY_MIB);
      console.log(`${name}: ${MEMORY_MIB} MiB: at first ${baseMb} MB, +${putMb} MB to write, +${getMb} MB to read`);
      expect(Math.max(putMb, getMb)).toBeLessThan(MOST_GROWTH_MB);
    });

    test("a reader that stops early releases its connection", async () => {
      const store = await opened();
      await store.put("large", bodyOf(bytesOf(20 * MIB)), OPTIONS);
      for (let n = 0; n < 60; n++) for await (const _ of store.get("large", OPTIONS)) break;
      expect((await read(store.get("large", { ...OPTIONS, from: 20 * MIB - 5 }))).length).toBe(5);
    });

    // The last test: it checks the errors of all tests before it.
    test("no error contains a secret", () => {
      const { secrets } = fixture();
      expect(errorTexts.length).toBeGreaterThan(10);
      expect(errorTexts.filter((text) => secrets.some((secret) => text.includes(secret)))).toEqual([]);
    });
  });
}
