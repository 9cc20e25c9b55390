import { createHash } from "node:crypto";
import { S3Client, S3ServiceException } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { translator } from "./failure.ts";
import { PATIENCE, Requests } from "./patience.ts";
import { s3Config } from "./s3-config.ts";
import { s3Answer } from "./s3-error.ts";
import { S3Writer } from "./s3-writer.ts";

const { signal } = new AbortController();
const there = { putID: () => Promise.resolve(undefined), remove: () => Promise.resolve() };
const location = { store: "s3", bucket: "backups", region: "eu-west-1" } as const;

/** What would be sent, by method and headers. */
function writer() {
  const sent: { method: string; headers: Record<string, string> }[] = [];
  const client = new S3Client(s3Config(location, { accessKeyId: "id", secretAccessKey: "key" }, PATIENCE));
  const send = (_next: unknown) => (args: { request?: unknown }) => {
    sent.push(args.request as (typeof sent)[number]);
    return Promise.resolve({ response: {}, output: { $metadata: {}, ETag: "tag", UploadId: "upload" } });
  };
  client.middlewareStack.add(send as never, { step: "finalizeRequest", priority: "low" });
  const requests = new Requests(PATIENCE, translator([], s3Answer));
  const object = { Bucket: "backups", Key: "db.db", Metadata: {} };
  return { sent, writer: new S3Writer(client, requests, "put", object, undefined, there) };
}

const md5 = (bytes: Uint8Array) => createHash("md5").update(bytes).digest("base64");

test("what a bucket keeps that locks its objects is sent with the checksum that every server knows, and no other", async () => {
  const { sent, writer: to } = writer();
  const [object, part] = [Buffer.from("a small object"), Buffer.from("a part")];
  await to.whole(object, signal);
  await to.begin(signal);
  await to.part({ index: 0, offset: 0, bytes: part, isLast: true, release: () => undefined }, signal);
  await to.commit(signal);
  expect(sent.map(({ method, headers }) => [method, headers["content-md5"]])).toEqual([
    ["PUT", md5(object)],
    ["POST", undefined],
    ["PUT", md5(part)],
    ["POST", undefined],
  ]);
  const names = sent.flatMap(({ headers }) => Object.keys(headers));
  expect(names.filter((name) => /checksum/.test(name))).toEqual([]);
  expect(names).toContain("authorization");
});

test("a request that the bucket will never take is not made again", () => {
  const message =
    "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters";
  const refusal = { name: "InvalidRequest", $fault: "client", $metadata: { httpStatusCode: 400 }, message } as const;
  expect(s3Answer(new S3ServiceException(refusal))).toEqual({
    reason: "InvalidLocation",
    text: `InvalidRequest (HTTP 400): ${message}`,
  });
});
