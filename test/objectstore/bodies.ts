import { randomBytes } from "node:crypto";

export const MIB = 1024 ** 2;

/** Bytes that differ from those of every other call. */
export function bytesOf(size: number): Buffer {
  // Random bytes are slow to make: one MiB of them is repeated, with its offset written into each copy.
  const seed = randomBytes(Math.min(size, MIB));
  const bytes = Buffer.alloc(size, size === 0 ? 0 : seed);
  for (let at = 0; at + 4 <= size; at += MIB) bytes.writeUInt32BE(at, at);
  return bytes;
}

export async function* bodyOf(bytes: Uint8Array, chunkBytes = 64 * 1024): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

/** A body that throws after the last byte. */
export async function* failing(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* bodyOf(bytes);
  throw new Error("the source broke");
}

/** A body that yields nothing after the last byte and does not end. */
export async function* endless(bytes: Uint8Array, atTheEnd: () => void): AsyncGenerator<Uint8Array> {
  yield* bodyOf(bytes);
  atTheEnd();
  await new Promise(() => {});
}

export async function read(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
