/** One part of a body. Its bytes are valid until `release`. */
export interface Part {
  /** Counted from 0. */
  readonly index: number;
  /** Offset of its first byte in the body. */
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
  release(): void;
}

/**
 * Splits a body into parts of equal size; the last may be smaller, and an empty body is one empty part. Bytes are
 * copied into a fixed number of buffers, so memory is bounded. While none is free, nothing is read.
 */
export async function* partsOf(
  body: AsyncIterable<Uint8Array>,
  partBytes: number,
  buffers: number,
): AsyncGenerator<Part, void, void> {
  const pool = new Pool(partBytes, buffers);
  let buffer = await pool.take();
  let filled = 0;
  let index = 0;
  const part = (isLast: boolean): Part => {
    const taken = buffer;
    const bytes = taken.subarray(0, filled);
    return { index, offset: index * partBytes, bytes, isLast, release: () => pool.give(taken) };
  };
  for await (const chunk of body) {
    let rest = chunk;
    while (rest.length > 0) {
      // A full part waits for another byte: only then it is known not to be the last.
      if (filled === partBytes) {
        yield part(false);
        index++;
        buffer = await pool.take();
        filled = 0;
      }
      const piece = rest.subarray(0, partBytes - filled);
      buffer.set(piece, filled);
      filled += piece.length;
      rest = rest.subarray(piece.length);
    }
  }
  yield part(true);
}

class Pool {
  readonly #bytes: number;
  readonly #free: Uint8Array[] = [];
  readonly #waiting: ((buffer: Uint8Array) => void)[] = [];
  #unmade: number;

  constructor(bytes: number, buffers: number) {
    this.#bytes = bytes;
    this.#unmade = buffers;
  }

  take(): Promise<Uint8Array> {
    const free = this.#free.pop();
    if (free !== undefined) return Promise.resolve(free);
    if (this.#unmade > 0) {
      this.#unmade--;
      // Untouched pages take no memory: a small object does not need a whole part.
      return Promise.resolve(Buffer.allocUnsafeSlow(this.#bytes));
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  give(buffer: Uint8Array): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(buffer);
    else next(buffer);
  }
}
