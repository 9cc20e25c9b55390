import { expect, test } from "vitest";
import { translator } from "./failure.ts";
import type { GCSAPI } from "./gcs-api.ts";
import { GCSWriter } from "./gcs-writer.ts";
import { PATIENCE, Requests } from "./patience.ts";

const { signal } = new AbortController();
const there = { putID: () => Promise.resolve(undefined), remove: () => Promise.resolve() };

interface Answer {
  readonly statusCode: number;
  readonly range?: string;
}

/** An upload of a four-byte and a two-byte part to a store with these answers. */
async function upload(first: Answer, last: Answer): Promise<string> {
  const sent: string[] = [];
  const answers = [first, last];
  const api = {
    url: (path: string) => new URL(path, "http://store"),
    sessionURL: (location: string) => new URL(location),
    request: (_url: URL, { method, headers }: { method: string; headers: Record<string, string> }) => {
      if (method === "POST") return Promise.resolve({ headers: { location: "http://store/session" } });
      sent.push(headers["content-range"] ?? method);
      const { statusCode, range } = answers.shift()!;
      return Promise.resolve({ statusCode, headers: { range }, resume: () => undefined });
    },
  };
  const requests = new Requests(PATIENCE, translator([]));
  const object = { name: "db.db", metadata: {} };
  const writer = new GCSWriter(api as unknown as GCSAPI, requests, "put db.db", "backups", object, there);
  const part = (index: number, offset: number, text: string, isLast: boolean) =>
    writer.part({ index, offset, bytes: Buffer.from(text), isLast, release: () => undefined }, signal);
  try {
    await writer.begin(signal);
    await part(0, 0, "abcd", false);
    await part(1, 4, "ef", true);
    await writer.commit(signal);
  } catch (thrown) {
    sent.push(String(thrown));
  }
  return sent.join(", ");
}

const MORE = { statusCode: 308, range: "bytes=0-3" };

test.each<[string, Answer, Answer, string]>([
  ["succeeds with status 200", MORE, { statusCode: 200 }, "bytes 0-3/*, bytes 4-5/6"],
  ["succeeds with status 201", MORE, { statusCode: 201 }, "bytes 0-3/*, bytes 4-5/6"],
  [
    "fails with any other status, for example of a proxy",
    MORE,
    { statusCode: 204 },
    "bytes 0-3/*, bytes 4-5/6, StoreError: put db.db: the store answered HTTP 204 to bytes 4-5/6",
  ],
  [
    "fails with a redirect",
    MORE,
    { statusCode: 302 },
    "bytes 0-3/*, bytes 4-5/6, StoreError: put db.db: the store answered HTTP 302 to bytes 4-5/6",
  ],
  [
    "fails with status 200 before its last bytes",
    { statusCode: 200 },
    { statusCode: 200 },
    "bytes 0-3/*, StoreError: put db.db: the store answered HTTP 200 to bytes 0-3/*",
  ],
  [
    "fails with status 201 before its last bytes",
    { statusCode: 201 },
    { statusCode: 200 },
    "bytes 0-3/*, StoreError: put db.db: the store answered HTTP 201 to bytes 0-3/*",
  ],
])("an upload to Google Cloud Storage %s", async (_what, first, last, expected) => {
  expect(await upload(first, last)).toBe(expected);
});
