import { createHash } from "node:crypto";
import { once } from "node:events";
import { Tally } from "../archive/bytes.ts";
import type { EncryptionKey } from "../archive/key.ts";
import { encrypted } from "../archive/seal.ts";
import { newCompressor } from "../archive/zstd.ts";
import { type Closing, type Line, lineText, type Opening } from "./line.ts";

/** A complete object in memory, so that storing can be retried. */
export interface Packed {
  readonly chunks: readonly Uint8Array[];
  /** SHA-256 of the stored object. */
  readonly sha256: string;
}

/** Lines are compressed in batches of this size. */
const BATCH_BYTES = 64 * 1024;

/**
 * Longest line, in bytes: a value of 24 MiB in base64. Smaller: archives of clusters that accept requests of more than
 * etcd's default of 1.5 MiB cannot be read. Larger: a line takes four times the memory.
 */
export const MAX_LINE_BYTES = 32 * 1024 ** 2;

/**
 * Most bytes of an object before compression, for writer and readers: 8 MiB of changes, or one revision that deletes
 * millions of keys. If smaller, such a revision becomes a gap; if larger, a decompression bomb keeps a reader busy for
 * longer.
 */
export const MAX_OBJECT_BYTES = 512 * 1024 ** 2;

/**
 * An object that is being written. Only compressed bytes are kept: a revision that deletes a million keys has a hundred
 * megabytes of lines.
 */
export class Packet {
  readonly opening: Opening;
  /** Bytes before compression. */
  bytes = 0;
  readonly #zstd = newCompressor();
  readonly #chunks: Uint8Array[] = [];
  readonly #hash = createHash("sha256");
  #batch: string[] = [];
  #batchBytes = 0;

  constructor(opening: Opening) {
    this.opening = opening;
    this.#zstd.on("data", (chunk: Uint8Array) => this.#chunks.push(chunk));
    this.#take(lineText(opening));
  }

  async add(line: Line): Promise<void> {
    this.#take(lineText(line));
    if (this.#batchBytes >= BATCH_BYTES) await this.#flush();
  }

  /** Completes the object; nothing can be added after it. */
  async close(closing: Omit<Closing, "sha256">, key: EncryptionKey | undefined): Promise<Packed> {
    await this.#flush();
    this.#take(lineText({ ...closing, sha256: this.#hash.copy().digest("hex") }));
    await this.#flush();
    this.#zstd.end();
    await once(this.#zstd, "end");
    const tally = new Tally();
    const chunks: Uint8Array[] = [];
    const plain = each(this.#chunks);
    for await (const chunk of tally.pass(key === undefined ? plain : encrypted(plain, key))) chunks.push(chunk);
    return { chunks, sha256: tally.sha256 };
  }

  #take(text: string): void {
    this.#batch.push(text);
    this.#batchBytes += text.length;
    this.bytes += text.length;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#batch.join(""));
    this.#batch = [];
    this.#batchBytes = 0;
    this.#hash.update(bytes);
    if (!this.#zstd.write(bytes)) await once(this.#zstd, "drain");
  }
}

export async function* each(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}
