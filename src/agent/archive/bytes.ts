import { createHash } from "node:crypto";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

/** A stream of bytes, in chunks of any size. */
export type Bytes = AsyncIterable<Uint8Array>;

/** Counts and hashes what passes. */
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

  /** In hexadecimal; only when everything has passed. */
  get sha256(): string {
    if (this.#sha256 === undefined) throw new Error("the stream has not ended");
    return this.#sha256;
  }
}

export interface Piece {
  readonly bytes: Buffer;
  /** Nothing comes after it. */
  readonly last: boolean;
}

/**
 * The same bytes in pieces of known sizes, the last of which may be shorter; of an empty stream one empty piece.
 * @param sizeOf the size of the piece with this number, counted from 0
 */
export async function* inPieces(source: Bytes, sizeOf: (index: number) => number): AsyncGenerator<Piece, void> {
  let index = 0;
  let piece = Buffer.allocUnsafe(sizeOf(index));
  let filled = 0;
  for await (const chunk of source) {
    for (let taken = 0; taken < chunk.length; ) {
      // A full piece waits until a byte follows, since the last one is told apart.
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

/** What a Node transform makes of it. Whoever stops reading ends the source too; what the source throws is thrown as it is. */
export async function* through(source: Bytes, transform: Transform): AsyncGenerator<Uint8Array, void> {
  const piped = pipeline(Readable.from(source, { objectMode: false }), transform);
  // Whoever reads the transform is told of the failure there; the promise tells it once more.
  piped.catch(() => undefined);
  yield* transform as AsyncIterable<Uint8Array>;
  await piped;
}
