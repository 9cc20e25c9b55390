import { createHash } from "node:crypto";
import { S3Client, S3ServiceException } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { StoreError } from "./error.ts";
import { translator } from "./failure.ts";
import { PATIENCE, type Patience, Requests } from "./patience.ts";
import { PUT_ID, put, type Writer } from "./put.ts";
import { s3Config } from "./s3-config.ts";
import { s3Answer } from "./s3-error.ts";
import { S3Writer } from "./s3-writer.ts";

const { signal } = new AbortController();
const nothing = { putID: () => Promise.resolve(undefined), remove: () => Promise.resolve() };
/** Polls quickly, and for longer than a busy machine takes. */
const QUICK = { ...PATIENCE, backoff: { firstMs: 5, maxMs: 5, factor: 1, jitter: 0 } };
const HASTY = { ...QUICK, commitMs: 200 };
const location = { store: "s3", bucket: "backups", region: "eu-west-1" } as const;

/**
 * Requests by method and headers.
 * @param lost number of lost answers to the completion of an upload
 * @param onList called when unfinished uploads are listed
 */
function writer({
  there = nothing,
  lost = 0,
  patience = QUICK,
  onList = () => undefined,
}: {
  there?: Pick<Writer, "putID" | "remove">;
  lost?: number;
  patience?: Patience;
  onList?: () => void;
} = {}) {
  let left = lost;
  const sent: { method: string; headers: Record<string, string> }[] = [];
  const client = new S3Client(s3Config(location, { accessKeyId: "id", secretAccessKey: "key" }, undefined, PATIENCE));
  const send = (_next: unknown) => (args: { request?: unknown }) => {
    const request = args.request as (typeof sent)[number] & { query: Record<string, string> };
    sent.push(request);
    if (request.method === "GET") onList();
    if (request.method === "POST" && "uploadId" in request.query && left-- > 0)
      return Promise.reject(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
    return Promise.resolve({ response: {}, output: { $metadata: {}, ETag: "tag", UploadId: "upload" } });
  };
  client.middlewareStack.add(send as never, { step: "finalizeRequest", priority: "low" });
  const requests = new Requests(patience, translator([], s3Answer));
  const object = { Bucket: "backups", Key: "db.db", Metadata: { [PUT_ID]: "own" } };
  return { sent, writer: new S3Writer(client, requests, "put", object, undefined, there) };
}

const md5 = (bytes: Uint8Array) => createHash("md5").update(bytes).digest("base64");

test("requests have Content-MD5, which object lock requires and every server supports, and no other checksum", async () => {
  const { sent, writer: to } = writer();
  const [object, part] = [Buffer.from("a small object"), Buffer.from("a part")];
  await to.whole(object, signal);
  await to.begin(signal);
  await to.part({ index: 0, offset: 0, bytes: part, isLast: true, release: () => undefined }, signal);
  await to.commit(signal);
  await to.endOthers(signal);
  expect(sent.map(({ method, headers }) => [method, headers["content-md5"]])).toEqual([
    ["PUT", md5(object)],
    ["POST", undefined],
    ["PUT", md5(part)],
    ["POST", undefined],
    ["GET", undefined], // Lists what earlier attempts have left.
  ]);
  const names = sent.flatMap(({ headers }) => Object.keys(headers));
  expect(names.filter((name) => /checksum/.test(name))).toEqual([]);
  expect(names).toContain("authorization");
});

test("an S3 refusal that a retry cannot change is a lasting failure", () => {
  const message =
    "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters";
  const refusal = { name: "InvalidRequest", $fault: "client", $metadata: { httpStatusCode: 400 }, message } as const;
  expect(s3Answer(new S3ServiceException(refusal))).toEqual({
    reason: "InvalidLocation",
    text: `InvalidRequest (HTTP 400): ${message}`,
  });
});

type Shown = readonly (string | undefined | StoreError)[];

/** Completes an upload that loses its first answer. @param shown visible ID at each check; the last one repeats */
async function completing(shown: Shown, patience = QUICK) {
  let looks = 0;
  const putID = async () => {
    const found = shown[Math.min(looks++, shown.length - 1)];
    if (found instanceof StoreError) throw found;
    return await Promise.resolve(found);
  };
  const { writer: to } = writer({ there: { ...nothing, putID }, lost: 1, patience });
  await to.begin(signal);
  await to.part({ index: 0, offset: 0, bytes: Buffer.from("a part"), isLast: true, release: () => undefined }, signal);
  const reason = await to.commit(signal).then(
    () => "done",
    (thrown: StoreError) => thrown.reason,
  );
  return { reason, looks };
}

test("an upload that was completed twice succeeds when its object becomes visible", async () => {
  expect(await completing([undefined, undefined, "own"])).toEqual({ reason: "done", looks: 3 });
  expect(await completing(["another"])).toEqual({ reason: "ObjectExists", looks: 1 });
  expect((await completing([undefined], HASTY)).reason).toBe("Timeout");
});

test("an upload that was completed twice succeeds without permission to read the object", async () => {
  expect(await completing([new StoreError("AccessDenied", "no")])).toEqual({ reason: "done", looks: 1 });
  expect((await completing([new StoreError("NoSuchBucket", "gone")])).reason).toBe("NoSuchBucket");
});

test("an upload with a confirmed first completion is not checked", async () => {
  const { writer: to } = writer({ there: { ...nothing, putID: () => Promise.reject(new Error("looked")) } });
  await to.begin(signal);
  await expect(to.commit(signal)).resolves.toBeUndefined();
});

test("an upload that is aborted after its object is stored succeeds, and its object stays", async () => {
  const call = new AbortController();
  let [visible, removed]: [string | undefined, number] = [undefined, 0];
  const there = {
    putID: () => Promise.resolve(visible),
    remove: () => Promise.resolve(void removed++),
  };
  let id: string | undefined;
  const onList = () => {
    visible = id;
    call.abort(new Error("the pod ends"));
  };
  const { sent, writer: to } = writer({ there, onList });
  const size = to.partBytes + 1;
  const body = (async function* () {
    yield await Promise.resolve(Buffer.alloc(size));
  })();
  const stored = put("put", body, { signal: call.signal }, QUICK, (own) => {
    id = own;
    return to;
  });
  await expect(stored).resolves.toEqual({ bytes: size });
  expect(call.signal.aborted).toBe(true);
  expect(sent.map(({ method }) => method)).toEqual(["POST", "PUT", "PUT", "POST", "GET"]);
  expect(removed).toBe(0);
});
