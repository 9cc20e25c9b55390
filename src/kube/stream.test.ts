import fc from "fast-check";
import { expect, test } from "vitest";
import { allOf } from "#kit/servers/kube-stream.ts";
import { PODS } from "./kinds.ts";
import { lines, MAX_LINE_BYTES, parseEvent, textWithin } from "./stream.ts";

async function* chunksOf(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

test("a watch stream is split into complete lines, wherever its chunks end", async () => {
  const line = fc
    .string({ unit: "grapheme", minLength: 1 })
    .filter((text) => !/[\n\r]/.test(text) && text.trim() !== "");
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.integer({ min: 1, max: 12 })), async (given, sizes) => {
      const bytes = Buffer.from(given.map((each) => `${each}\n`).join(""));
      const chunks: Uint8Array[] = [];
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const size = sizes[n] ?? 5;
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      expect(await allOf(lines(chunksOf(...chunks), "watch"))).toEqual(given);
    }),
  );
});

test("a stream that ends within a line fails after its complete lines", async () => {
  const received: string[] = [];
  const reading = (async () => {
    for await (const line of lines(chunksOf(Buffer.from('{"a":1}\n{"b"')), "watch pods")) received.push(line);
  })();
  await expect(reading).rejects.toMatchObject({
    code: "KubeUnavailable",
    message: expect.stringContaining("within an event"),
  });
  expect(received).toEqual(['{"a":1}']);
});

test("a line that is too long fails before all of it is in memory", async () => {
  let sent = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      sent += 65_536;
      yield await Promise.resolve(new Uint8Array(65_536).fill(97));
    }
  }
  await expect(allOf(lines(endless(), "watch"))).rejects.toMatchObject({ code: "KubeInvalid" });
  expect(sent).toBeLessThanOrEqual(MAX_LINE_BYTES + 65_536);
});

const metadata = { name: "x", namespace: "default", uid: "u", resourceVersion: "7" };
test("a body is read up to its bound, and an endless one fails at the bound", async () => {
  const chunks = [Buffer.from("ab"), Buffer.from("\u00fc")];
  expect(await textWithin(chunksOf(...chunks), 4, "get")).toBe("ab\u00fc");
  let sent = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; ; sent++) yield await Promise.resolve(Buffer.from("ab"));
  }
  await expect(textWithin(endless(), 4, "get")).rejects.toMatchObject({
    code: "KubeInvalid",
    message: "get: the answer is longer than 4 bytes",
  });
  expect(sent).toBe(2);
});

test("watch events have kind and version, and bookmarks have whether the initial state is complete", () => {
  const read = (event: object) => parseEvent(JSON.stringify(event), PODS, "watch pods");
  expect(read({ type: "ADDED", object: { metadata } })).toEqual({
    type: "ADDED",
    object: { apiVersion: "v1", kind: "Pod", metadata },
  });
  const annotations = { "k8s.io/initial-events-end": "true" };
  const bookmark = { type: "BOOKMARK", resourceVersion: "9" };
  expect(read({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } })).toEqual({
    ...bookmark,
    initialEventsEnd: false,
  });
  expect(read({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9", annotations } } })).toEqual({
    ...bookmark,
    initialEventsEnd: true,
  });
});

test("an ERROR event fails with the code of its Status", () => {
  const error = (code: number, reason: string) =>
    JSON.stringify({ type: "ERROR", object: { kind: "Status", code, reason, message: "m" } });
  const codeOf = (line: string) => {
    try {
      return parseEvent(line, PODS, "watch pods").type;
    } catch (thrown) {
      return (thrown as { code: string }).code;
    }
  };
  expect(codeOf(error(410, "Expired"))).toBe("KubeExpired");
  expect(codeOf(error(500, "InternalError"))).toBe("KubeUnavailable");
  expect(codeOf(error(429, "TooManyRequests"))).toBe("KubeThrottled");
});

const nonsense = [
  "{",
  "null",
  "[]",
  '"ADDED"',
  "{}",
  '{"type":"ADDED"}',
  '{"type":"NEW","object":{}}',
  '{"type":"ADDED","object":{"metadata":{"name":"x","uid":"u"}}}',
  '{"type":"BOOKMARK","object":{"metadata":{}}}',
  '{"type":"ERROR","object":{}}',
];
for (const line of nonsense) {
  test(`a line that is not a watch event fails: ${line}`, () => {
    expect(() => parseEvent(line, PODS, "watch pods")).toThrow(/watch pods: not a watch event/);
  });
}
