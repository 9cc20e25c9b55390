import { type FileHandle, open } from "node:fs/promises";
import { AgentError } from "../error.ts";
import { metaIn, PAGE_HEADER_BYTES } from "./meta.ts";

// What is it for?
//   A snapshot is a bbolt database: a file of pages, in which B+ trees form buckets. Some facts about a snapshot are
//   only there, and no tool reports all of them. So a few pages are parsed here. The format has not changed since 2014
//   (go.etcd.io/bbolt, internal/common/page.go, meta.go, bucket.go). etcd could not read its own files if it did.
// Is the file trusted?
//   No: anyone with write access to the object store may have written it, and its checksum is no signature. So every
//   value is checked, and the amount read is limited.

const ELEMENT_BYTES = 16;
const BRANCH_PAGE = 0x01;
const LEAF_PAGE = 0x02;
const BUCKET_ELEMENT = 0x01;
const BUCKET_HEADER_BYTES = 16;

/** Deeper than any real database: with two keys a page, a tree of this depth has 2^32 keys. */
const MAX_DEPTH = 32;
/** Far more reads than a few lookups need. */
const MAX_READS = 100_000;
/**
 * Limit on the bytes read: a branch or leaf page has some kilobytes of elements. If larger, pages that form a cycle are
 * read for longer.
 */
const MAX_READ_BYTES = 256 * 1024 ** 2;
/** Limit on keys and values: those looked up have about ten bytes. */
const MAX_BYTES = 4096;

/** A bbolt database that no process is writing. @throws AgentError SnapshotCorrupt, from every method */
export class BboltFile implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #path: string;
  #reads = 0;
  #readBytes = 0;
  #pageBytes = 0;
  #root = 0;

  private constructor(file: FileHandle, path: string) {
    this.#file = file;
    this.#path = path;
  }

  static async open(path: string): Promise<BboltFile> {
    const opened = new BboltFile(await open(path), path);
    try {
      const meta = await metaIn((at, bytes) => opened.#read(at, bytes));
      if (meta === undefined) throw opened.#corrupt("it has no valid meta page");
      opened.#pageBytes = meta.pageBytes;
      opened.#root = meta.root;
      return opened;
    } catch (thrown) {
      await opened[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  /** Value of a key in a top-level bucket; undefined when the key does not exist. */
  async get(bucket: string, key: string): Promise<Buffer | undefined> {
    const place = await this.placeOf(bucket, key);
    return place && (await this.#read(place.at, this.#bounded(place.bytes)));
  }

  /** Offset and length of that value in the file. */
  async placeOf(bucket: string, key: string): Promise<{ readonly at: number; readonly bytes: number } | undefined> {
    const root = await this.#bucket(bucket);
    const leaf = root === undefined ? undefined : await this.#find(root, Buffer.from(key));
    return leaf && { at: leaf.valueAt, bytes: leaf.valueBytes };
  }

  /** Last key of a top-level bucket; undefined when the bucket is empty or missing. */
  async lastKey(bucket: string): Promise<Buffer | undefined> {
    const root = await this.#bucket(bucket);
    return root === undefined ? undefined : await this.#last(root, MAX_DEPTH);
  }

  /** Offset of a bucket's root page. */
  async #bucket(name: string): Promise<number | undefined> {
    const leaf = await this.#find(this.#pageAt(this.#root), Buffer.from(name));
    if (leaf === undefined) return undefined;
    if (!leaf.isBucket || leaf.valueBytes < BUCKET_HEADER_BYTES) throw this.#corrupt(`${name} is not a bucket`);
    const root = number((await this.#read(leaf.valueAt, BUCKET_HEADER_BYTES)).readBigUInt64LE());
    // A small bucket is inline: its only page follows the header.
    return root === 0 ? leaf.valueAt + BUCKET_HEADER_BYTES : this.#pageAt(root);
  }

  async #find(root: number, key: Buffer): Promise<Leaf | undefined> {
    let at = root;
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const page = await this.#page(at);
      // The last element with a key not greater; the first key of a branch may be greater than the keys below it.
      let found = -1;
      for (let index = 0; index < page.count; index++) {
        const order = Buffer.compare(await this.#key(page, index), key);
        if (order <= 0) found = index;
        if (order >= 0) break;
      }
      if (page.isLeaf) {
        const leaf = found < 0 ? undefined : leafAt(page, found);
        return leaf && (await this.#key(page, found)).equals(key) ? leaf : undefined;
      }
      if (page.count === 0) throw this.#corrupt(`the branch at byte ${at} has no children`);
      at = this.#childOf(page, Math.max(0, found));
    }
    throw this.#corrupt("its pages form a cycle");
  }

  async #last(at: number, depth: number): Promise<Buffer | undefined> {
    if (depth === 0) throw this.#corrupt("its pages form a cycle");
    const page = await this.#page(at);
    for (let index = page.count - 1; index >= 0; index--) {
      const key = page.isLeaf ? await this.#key(page, index) : await this.#last(this.#childOf(page, index), depth - 1);
      if (key !== undefined) return key;
    }
    return undefined;
  }

  async #page(at: number): Promise<Page> {
    const header = await this.#read(at, PAGE_HEADER_BYTES);
    const flags = header.readUInt16LE(8);
    const count = header.readUInt16LE(10);
    if (flags !== LEAF_PAGE && flags !== BRANCH_PAGE) throw this.#corrupt(`byte ${at} is not the start of a tree page`);
    const elementsAt = at + PAGE_HEADER_BYTES;
    return {
      isLeaf: flags === LEAF_PAGE,
      count,
      elementsAt,
      elements: await this.#read(elementsAt, count * ELEMENT_BYTES),
    };
  }

  async #key(page: Page, index: number): Promise<Buffer> {
    const { keyAt, keyBytes } = page.isLeaf ? leafAt(page, index) : branchAt(page, index);
    return await this.#read(keyAt, this.#bounded(keyBytes));
  }

  #childOf(page: Page, index: number): number {
    return this.#pageAt(branchAt(page, index).child);
  }

  #pageAt(number: number): number {
    return number * this.#pageBytes;
  }

  #bounded(bytes: number): number {
    if (bytes > MAX_BYTES) throw this.#corrupt(`a key or value has ${bytes} bytes, more than etcd writes`);
    return bytes;
  }

  async #read(at: number, bytes: number): Promise<Buffer> {
    this.#readBytes += bytes;
    const isEnough = ++this.#reads > MAX_READS || this.#readBytes > MAX_READ_BYTES;
    if (isEnough || !Number.isSafeInteger(at)) throw this.#corrupt("its pages form a cycle, or point outside the file");
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await this.#file.read(buffer, 0, bytes, at);
    if (bytesRead !== bytes) throw this.#corrupt(`it ends before byte ${at + bytes}`);
    return buffer;
  }

  #corrupt(message: string): AgentError {
    return new AgentError("SnapshotCorrupt", `${this.#path} is not an intact database of etcd: ${message}`);
  }
}

interface Page {
  readonly isLeaf: boolean;
  readonly count: number;
  /** Offset of the elements in the file; keys and values are relative to it. */
  readonly elementsAt: number;
  readonly elements: Buffer;
}

interface Leaf {
  readonly isBucket: boolean;
  readonly keyAt: number;
  readonly keyBytes: number;
  readonly valueAt: number;
  readonly valueBytes: number;
}

function leafAt({ elementsAt, elements }: Page, index: number): Leaf {
  const at = index * ELEMENT_BYTES;
  const keyAt = elementsAt + at + elements.readUInt32LE(at + 4);
  const keyBytes = elements.readUInt32LE(at + 8);
  return {
    isBucket: (elements.readUInt32LE(at) & BUCKET_ELEMENT) !== 0,
    keyAt,
    keyBytes,
    valueAt: keyAt + keyBytes,
    valueBytes: elements.readUInt32LE(at + 12),
  };
}

function branchAt({ elementsAt, elements }: Page, index: number) {
  const at = index * ELEMENT_BYTES;
  return {
    keyAt: elementsAt + at + elements.readUInt32LE(at),
    keyBytes: elements.readUInt32LE(at + 4),
    child: number(elements.readBigUInt64LE(at + 8)),
  };
}

/** An unsafe integer is rejected by `#read`. */
function number(value: bigint): number {
  return Number(value);
}
