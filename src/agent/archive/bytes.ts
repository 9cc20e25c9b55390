import { createHash } from "node:crypto";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

/** A stream of bytes, in chunks of any size. */
export type Bytes = AsyncIterable<Uint8Array>;

/** Counts and hashes the bytes that pass through. */
export class Tally {
  bytes = 0;
  readonly #hash = createHash("sha256");
  #sha256: string | undefined;

  async *pass(source: Bytes): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of source) {
      this.#hash.update(chunk);
      this.bytes += chunk.length;
      yield chunk;
    }
    this.#sha256 = this.#hash.digest("hex");
  }

  /** Hexadecimal; available once the stream has ended. */
  get sha256(): string {
    if (this.#sha256 === undefined) throw new Error("the stream has not ended");
    return this.#sha256;
  }
}

export interface Piece {
  readonly bytes: Buffer;
  /** Whether this is the last piece. */
  readonly last: boolean;
}

/**
 * Splits the stream into pieces of known sizes; the last may be shorter. An empty stream yields one empty piece.
 * @param sizeOf size of the piece with this index, from 0
 */
export async function* inPieces(source: Bytes, sizeOf: (index: number) => number): AsyncGenerator<Piece, void> {
  let index = 0;
  let piece = Buffer.allocUnsafe(sizeOf(index));
  let filled = 0;
  for await (const chunk of source) {
    for (let taken = 0; taken < chunk.length; ) {
      // A full piece waits for another byte, since the last piece must be marked.
      if (filled === piece.length) {
        yield { bytes: piece, last: false };
        piece = Buffer.allocUnsafe(sizeOf(++index));
        filled = 0;
      }
      const part = chunk.subarray(taken, taken + piece.length - filled);
      piece.set(part, filled);
      filled += part.length;
      taken += part.length;
    }
  }
  yield { bytes: piece.subarray(0, filled), last: true };
}

/**
 * Pipes the stream through a Node transform. When the reader stops, the source ends too; errors of the source are
 * thrown unchanged.
 */
export async function* through(source: Bytes, transform: Transform): AsyncGenerator<Uint8Array, void> {
  const piped = pipeline(Readable.from(source, { objectMode: false }), transform);
  // The reader of the transform gets the failure; the promise would report it a second time.
  piped.catch(() => undefined);
  yield* transform as AsyncIterable<Uint8Array>;
  await piped;
}
