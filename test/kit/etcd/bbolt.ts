import { createHash } from "node:crypto";

// A small bbolt database in the format of etcd's. test/etcd/restore.test.ts reads real ones. The ones here have
// properties that no etcd produces quickly: deep trees, other page sizes, and errors.

/** Bucket → key → value. */
export type Buckets = Readonly<Record<string, ReadonlyMap<Buffer, Buffer>>>;

export interface BboltOptions {
  readonly pageBytes?: number;
  /** Number of entries in a page. */
  readonly perPage?: number;
  /** Whether buckets of one page are stored inline in the root's page. */
  readonly inline?: boolean;
}

const HEADER = 16;
const ELEMENT = 16;
const [BRANCH, LEAF, META] = [1, 2, 4];

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly isBucket?: boolean;
}

export function bboltFile(buckets: Buckets, options: BboltOptions = {}): Buffer {
  const { pageBytes = 4096, perPage = 20, inline = true } = options;
  const pages: Buffer[] = []; // whole pages, starting with page 2
  let next = 2;
  const place = (flags: number, count: number, content: Buffer): bigint => {
    const span = Math.max(1, Math.ceil((HEADER + content.length) / pageBytes));
    const page = Buffer.alloc(span * pageBytes);
    const id = next;
    next += span;
    header(page, id, flags, count, span - 1);
    content.copy(page, HEADER);
    pages.push(page);
    return BigInt(id);
  };
  const tree = (entries: readonly Entry[]): bigint => {
    let level = chunked(entries, perPage).map((some) => ({
      key: some[0]?.key ?? Buffer.alloc(0),
      page: place(LEAF, some.length, leafContent(some)),
    }));
    while (level.length > 1) {
      level = chunked(level, perPage).map((some) => ({
        key: some[0]!.key,
        page: place(BRANCH, some.length, branchContent(some)),
      }));
    }
    return level[0]!.page;
  };
  const root = tree(
    sorted(
      Object.entries(buckets).map(([name, content]) => {
        const entries = sorted([...content].map(([key, value]) => ({ key, value })));
        const bucket = Buffer.alloc(16);
        if (inline && entries.length <= perPage) {
          const page = Buffer.alloc(HEADER);
          header(page, 0, LEAF, entries.length, 0);
          return { key: Buffer.from(name), value: Buffer.concat([bucket, page, leafContent(entries)]), isBucket: true };
        }
        bucket.writeBigUInt64LE(tree(entries));
        return { key: Buffer.from(name), value: bucket, isBucket: true };
      }),
    ),
  );
  const metas = [metaPage(0, pageBytes, root, next, 7n), metaPage(1, pageBytes, root, next, 6n)];
  return Buffer.concat([...metas, ...pages]);
}

function header(page: Buffer, id: number, flags: number, count: number, overflow: number): void {
  page.writeBigUInt64LE(BigInt(id), 0);
  page.writeUInt16LE(flags, 8);
  page.writeUInt16LE(count, 10);
  page.writeUInt32LE(overflow, 12);
}

/** One of the two meta pages; the one with the higher transaction ID is valid. */
export function metaPage(id: 0 | 1, pageBytes: number, root: bigint, next: number, transaction: bigint): Buffer {
  const page = Buffer.alloc(pageBytes);
  header(page, id, META, 0, 0);
  const meta = page.subarray(HEADER, HEADER + 64);
  meta.writeUInt32LE(0xed0cdaed, 0);
  meta.writeUInt32LE(2, 4);
  meta.writeUInt32LE(pageBytes, 8);
  meta.writeBigUInt64LE(root, 16);
  meta.writeBigUInt64LE(BigInt(next), 40);
  meta.writeBigUInt64LE(transaction, 48);
  let hash = 0xcbf29ce484222325n;
  for (const byte of meta.subarray(0, 56)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  meta.writeBigUInt64LE(hash, 56);
  return page;
}

function leafContent(entries: readonly Entry[]): Buffer {
  const elements = Buffer.alloc(entries.length * ELEMENT);
  let at = elements.length;
  entries.forEach(({ key, value, isBucket }, index) => {
    const from = index * ELEMENT;
    elements.writeUInt32LE(isBucket === true ? 1 : 0, from);
    elements.writeUInt32LE(at - from, from + 4);
    elements.writeUInt32LE(key.length, from + 8);
    elements.writeUInt32LE(value.length, from + 12);
    at += key.length + value.length;
  });
  return Buffer.concat([elements, ...entries.flatMap(({ key, value }) => [key, value])]);
}

function branchContent(children: readonly { readonly key: Buffer; readonly page: bigint }[]): Buffer {
  const elements = Buffer.alloc(children.length * ELEMENT);
  let at = elements.length;
  children.forEach(({ key, page }, index) => {
    const from = index * ELEMENT;
    elements.writeUInt32LE(at - from, from);
    elements.writeUInt32LE(key.length, from + 4);
    elements.writeBigUInt64LE(page, from + 8);
    at += key.length;
  });
  return Buffer.concat([elements, ...children.map(({ key }) => key)]);
}

function sorted<E extends Entry>(entries: E[]): E[] {
  return entries.sort((a, b) => Buffer.compare(a.key, b.key));
}

/** At least one chunk, which may be empty. */
function chunked<T>(all: readonly T[], size: number): T[][] {
  const count = Math.max(1, Math.ceil(all.length / size));
  return Array.from({ length: count }, (_, index) => all.slice(index * size, (index + 1) * size));
}

/** A key of etcd's bucket `key`. */
export function revisionKey(main: number | bigint, isDeletion = false): Buffer {
  const key = Buffer.alloc(isDeletion ? 18 : 17);
  key.writeBigInt64BE(BigInt(main));
  key.write("_", 8);
  if (isDeletion) key.write("t", 17);
  return key;
}

/** Content of an etcd database that a test may choose. */
export interface EtcdContent {
  /** Revisions, each with a value of a few bytes. */
  readonly revisions?: readonly (number | bigint)[];
  readonly compacted?: { readonly scheduled?: number; readonly finished?: number };
  /** Undefined: authentication was never enabled. */
  readonly authEnabled?: boolean;
  readonly clusterVersion?: string;
}

export function etcdBuckets(content: EtcdContent = {}): Buckets {
  const { revisions = [2, 3, 7], compacted = {}, authEnabled, clusterVersion = "3.6.0" } = content;
  const text = (entries: Readonly<Record<string, Buffer | undefined>>) =>
    new Map(Object.entries(entries).flatMap(([key, value]) => (value ? [[Buffer.from(key), value] as const] : [])));
  const revision = (main: number | undefined) => (main === undefined ? undefined : revisionKey(main));
  return {
    key: new Map(revisions.map((main) => [revisionKey(main), Buffer.alloc(100, "a value ")])),
    meta: text({
      consistent_index: Buffer.alloc(8, 1),
      scheduledCompactRev: revision(compacted.scheduled),
      finishedCompactRev: revision(compacted.finished),
    }),
    auth: text({
      authEnabled: authEnabled === undefined ? undefined : Buffer.from([authEnabled ? 1 : 0]),
      authRevision: Buffer.alloc(8),
    }),
    cluster: text({ clusterVersion: Buffer.from(clusterVersion) }),
    lease: new Map(),
  };
}

/** The database followed by its checksum, as etcd sends a snapshot. */
export function snapshotOf(database: Buffer): Buffer {
  return Buffer.concat([database, createHash("sha256").update(database).digest()]);
}

export function etcdSnapshot(content: EtcdContent = {}, options: BboltOptions = {}): Buffer {
  return snapshotOf(bboltFile(etcdBuckets(content), options));
}
