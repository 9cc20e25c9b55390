import fc from "fast-check";
import { expect, test } from "vitest";
import { type Part, partsOf } from "./parts.ts";

async function* chunked(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  yield* chunks;
}

test("parts: the parts have the same bytes as the chunks, and only the last is marked as last", async () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.integer({ min: 1, max: 32 }), async (given, partBytes) => {
      const whole = Buffer.concat(given);
      const parts: (Omit<Part, "release" | "bytes"> & { bytes: Buffer })[] = [];
      for await (const { index, offset, bytes, isLast, release } of partsOf(chunked(given), partBytes, 2)) {
        parts.push({ index, offset, isLast, bytes: Buffer.from(bytes) });
        release();
      }
      expect(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(whole)).toBe(true);
      expect(parts.map(({ isLast }) => isLast)).toEqual(parts.map((_, index) => index === parts.length - 1));
      expect(parts.map(({ index, offset }) => [index, offset])).toEqual(parts.map((_, n) => [n, n * partBytes]));
      expect(parts.slice(0, -1).every(({ bytes }) => bytes.length === partBytes)).toBe(true);
      expect(parts).toHaveLength(Math.max(1, Math.ceil(whole.length / partBytes)));
    }),
  );
});

test("parts: no chunk is read while all buffers are in use", async () => {
  let read = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for (;;) {
      read++;
      yield await Promise.resolve(Buffer.alloc(4));
    }
  }
  const parts = partsOf(counted(), 4, 2);
  const first = (await parts.next()).value as Part;
  await parts.next();
  const third = parts.next();
  await new Promise((resolve) => setImmediate(resolve));
  expect(read).toBe(3);
  first.release();
  expect((await third).value).toMatchObject({ index: 2 });
});
