/** One part of a body. Its bytes are ours until `release`, then they are overwritten. */
export interface Part {
  /** From 0. */
  readonly index: number;
  /** Of its first byte in the whole. */
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
  release(): void;
}

/**
 * Cuts a body into parts of equal size, the last of which may be smaller; a body without bytes is one part without bytes.
 * The bytes are copied into a fixed number of buffers which are used again and again: memory does not grow with the body, and
 * not with the speed at which garbage is collected. When none is free, nothing is read.
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
      // A full part is handed out when another byte is there: before that nobody knows whether it is the last one.
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
      // Pages that are never written take no memory: a small object does not pay for a whole part.
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
