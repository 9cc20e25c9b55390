/**
 * Pseudo-random numbers from 0 to 1 from a seed: mulberry32,
 * https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
 */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Bytes that confuse parsers: lengths of DER, tags, ends. */
const TELLING = [0x00, 0x01, 0x02, 0x03, 0x06, 0x30, 0x7f, 0x80, 0x81, 0x82, 0x84, 0x88, 0xa0, 0xa3, 0xff];

/**
 * Mutations of the original with one to four changes each. A change affects a byte, a bit, or a piece that is removed,
 * repeated, moved or replaced. The same seed gives the same mutations.
 */
export function mutations(original: Buffer, seed: number, count: number): readonly Buffer[] {
  const random = randomOf(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const changed = (bytes: Buffer): Buffer => {
    const at = below(bytes.length + 1);
    const length = 1 + below(random() < 0.5 ? 4 : 200);
    const [before, piece, after] = [
      bytes.subarray(0, at),
      bytes.subarray(at, at + length),
      bytes.subarray(at + length),
    ];
    switch (below(6)) {
      case 0:
        return Buffer.concat([before, Buffer.from([TELLING[below(TELLING.length)] ?? 0]), bytes.subarray(at + 1)]);
      case 1:
        return Buffer.concat([before, Buffer.from([(bytes[at] ?? 0) ^ (1 << below(8))]), bytes.subarray(at + 1)]);
      case 2:
        return Buffer.concat([before, after]);
      case 3:
        return Buffer.concat([before, ...Array.from({ length: 1 + below(20) }, () => piece), after]);
      case 4:
        return Buffer.concat([before, Buffer.from(Array.from({ length }, () => below(256))), after]);
      default:
        return before;
    }
  };
  return Array.from({ length: count }, () => {
    let bytes = original;
    for (let change = 1 + below(4); change > 0; change--) bytes = changed(bytes);
    return bytes;
  });
}
