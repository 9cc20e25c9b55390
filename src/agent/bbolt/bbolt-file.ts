import { type FileHandle, open } from "node:fs/promises";
import { AgentError } from "../error.ts";
import { metaIn, PAGE_HEADER_BYTES } from "./meta.ts";

// What is it for?
//   A snapshot is a bbolt database: a file of pages, in which B+ trees are the buckets. Some facts about a snapshot stand only there, and no
//   program that could be asked knows them all. So a few pages are read, by hand: the format is the same since 2014
//   (go.etcd.io/bbolt, internal/common/page.go, meta.go, bucket.go), and etcd could not read its own files if it changed.
// Who wrote the file?
//   Whoever could write to the object store: its checksum is no signature. So whatever it says is checked, and reading ends.

const ELEMENT_BYTES = 16;
const BRANCH_PAGE = 0x01;
const LEAF_PAGE = 0x02;
const BUCKET_ELEMENT = 0x01;
const BUCKET_HEADER_BYTES = 16;

/** More are in no database: with two keys a page, a tree of this depth has 2^32 of them. */
const MAX_DEPTH = 32;
/** Far more than a few lookups take. */
const MAX_READS = 100_000;
/** Keys and values that are asked for are some ten bytes long. */
const MAX_BYTES = 4096;

/** A bbolt database that nobody writes to at this moment. @throws AgentError SnapshotCorrupt, from every method */
export class BboltFile implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #path: string;
  #reads = 0;
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
      if (meta === undefined) throw opened.#corrupt("it has no page that tells what it is");
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

  /** The value of a key in a bucket of the top level; undefined when there is none. */
  async get(bucket: string, key: string): Promise<Buffer | undefined> {
    const place = await this.placeOf(bucket, key);
    return place && (await this.#read(place.at, this.#bounded(place.bytes)));
  }

  /** Where that value stands in the file, and how long it is. */
  async placeOf(bucket: string, key: string): Promise<{ readonly at: number; readonly bytes: number } | undefined> {
    const root = await this.#bucket(bucket);
    const leaf = root === undefined ? undefined : await this.#find(root, Buffer.from(key));
    return leaf && { at: leaf.valueAt, bytes: leaf.valueBytes };
  }

  /** The last key of a bucket of the top level; undefined when it is empty, or not there. */
  async lastKey(bucket: string): Promise<Buffer | undefined> {
    const root = await this.#bucket(bucket);
    return root === undefined ? undefined : await this.#last(root, MAX_DEPTH);
  }

  /** Where the page of a bucket begins. */
  async #bucket(name: string): Promise<number | undefined> {
    const leaf = await this.#find(this.#pageAt(this.#root), Buffer.from(name));
    if (leaf === undefined) return undefined;
    if (!leaf.isBucket || leaf.valueBytes < BUCKET_HEADER_BYTES) throw this.#corrupt(`${name} is no bucket`);
    const root = number((await this.#read(leaf.valueAt, BUCKET_HEADER_BYTES)).readBigUInt64LE());
    // The only page of a small bucket stands where otherwise its number does.
    return root === 0 ? leaf.valueAt + BUCKET_HEADER_BYTES : this.#pageAt(root);
  }

  async #find(root: number, key: Buffer): Promise<Leaf | undefined> {
    let at = root;
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const page = await this.#page(at);
      // The last element whose key is not greater; the first key of a branch may be greater than what lies below it.
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
      at = this.#childOf(page, Math.max(0, found));
    }
    throw this.#corrupt("its pages go round in a circle");
  }

  async #last(at: number, depth: number): Promise<Buffer | undefined> {
    if (depth === 0) throw this.#corrupt("its pages go round in a circle");
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
    if (flags !== LEAF_PAGE && flags !== BRANCH_PAGE) throw this.#corrupt(`at byte ${at} is no page of a tree`);
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
    if (bytes > MAX_BYTES) throw this.#corrupt(`a key or a value of its own has ${bytes} bytes`);
    return bytes;
  }

  async #read(at: number, bytes: number): Promise<Buffer> {
    if (++this.#reads > MAX_READS || !Number.isSafeInteger(at)) throw this.#corrupt("its pages lead nowhere");
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await this.#file.read(buffer, 0, bytes, at);
    if (bytesRead !== bytes) throw this.#corrupt(`it ends before byte ${at + bytes}`);
    return buffer;
  }

  #corrupt(message: string): AgentError {
    return new AgentError("SnapshotCorrupt", `${this.#path} is no database of etcd that is whole: ${message}`);
  }
}

interface Page {
  readonly isLeaf: boolean;
  readonly count: number;
  /** Where the elements stand in the file; keys and values are told by their distance. */
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

/** What is no safe integer any more leads nowhere, see `#read`. */
function number(value: bigint): number {
  return Number(value);
}
