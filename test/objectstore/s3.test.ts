import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, describe, expect, test } from "vitest";
import { type Asked, startAnsweringProxy } from "#kit/servers/answering-proxy.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import { S3_ACCESS, startVersitygw } from "#kit/servers/versitygw.ts";
import type { S3Location } from "#objectstore/location.ts";
import { bodyOf, bytesOf, MIB, read } from "./bodies.ts";
import { BRISK, never, openPlace, type Place, refused, storeContract } from "./contract.ts";
import { networkContract } from "./network.ts";
import { outageContract, type Phase } from "./outages.ts";

afterAll(removeTemporaryDirs);

const server = await startVersitygw();
afterAll(() => server.stop());

const credentials = credentialsDir({ AWS_ACCESS_KEY_ID: S3_ACCESS.id, AWS_SECRET_ACCESS_KEY: `${S3_ACCESS.secret}\n` });
const client = new S3Client({
  endpoint: `http://127.0.0.1:${server.port}`,
  region: "us-east-1",
  forcePathStyle: true,
  credentials: { accessKeyId: S3_ACCESS.id, secretAccessKey: S3_ACCESS.secret },
});
afterAll(() => client.destroy());
let count = 0;
let last = "";

function place(port: number): S3Location {
  last = server.bucket(`bucket-${count++}`);
  return { store: "s3", bucket: last, endpoint: `http://127.0.0.1:${port}`, pathStyle: true };
}

const placeAt = (port: number): Promise<Place> =>
  Promise.resolve({ location: place(port), credentialsDir: credentials });

storeContract("S3", () => ({
  partBytes: 8 * MIB,
  secrets: [S3_ACCESS.id, S3_ACCESS.secret],
  place: () => placeAt(server.port),
  unfinished,
}));

async function unfinished(): Promise<readonly string[]> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: last }));
  return Uploads.map(({ Key = "" }) => Key);
}

networkContract("S3", () => server.port, placeAt);

function phaseOf({ method, url: { searchParams } }: Asked): Phase {
  if (method === "HEAD") return "look";
  if (method === "DELETE") return "delete";
  if (method === "GET") return searchParams.has("list-type") ? "list" : "read";
  if (method === "POST") return searchParams.has("uploads") ? "begin" : "commit";
  return searchParams.has("partNumber") ? "part" : "whole";
}

const SLOW_DOWN = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";

outageContract(
  "S3",
  {
    phaseOf,
    phases: ["look", "whole", "begin", "part", "commit", "read", "list", "delete"],
    busy: { status: 503, headers: { "content-type": "application/xml" }, body: SLOW_DOWN },
  },
  () => server.port,
  placeAt,
);

const NOT_IMPLEMENTED =
  "<Error><Code>NotImplemented</Code><Message>A header implies functionality that is not implemented.</Message></Error>";

test("S3: uploads of earlier attempts are ended once the object is stored, and those of other keys are not", async () => {
  const store = await openPlace(await placeAt(server.port));
  for (const Key of ["a/db", "a/db", "a/db.other"])
    await client.send(new CreateMultipartUploadCommand({ Bucket: last, Key }));
  await store.put("a/db", bodyOf(bytesOf(9 * MIB)), { signal: never });
  expect(await unfinished()).toEqual(["a/db.other"]);
  await store.close();
});

test("S3 without the permission to list uploads: the object is stored, and uploads of earlier attempts stay", async () => {
  const proxy = await startAnsweringProxy(server.port);
  proxy.instead = ({ method, url }) =>
    method === "GET" && url.searchParams.has("uploads") ? { status: 403, headers: {}, body: "" } : undefined;
  const store = await openPlace(await placeAt(proxy.port));
  await client.send(new CreateMultipartUploadCommand({ Bucket: last, Key: "a/db" }));
  await store.put("a/db", bodyOf(bytesOf(9 * MIB)), { signal: never });
  expect(await unfinished()).toEqual(["a/db"]);
  await store.close();
  await proxy.stop();
});

test("S3 without conditional writes: an object is stored unless one exists when the write begins", async () => {
  const proxy = await startAnsweringProxy(server.port);
  let refusals = 0;
  proxy.instead = ({ headers }) => {
    if (headers["if-none-match"] === undefined) return undefined;
    refusals += 1;
    return { status: 501, headers: { "content-type": "application/xml" }, body: NOT_IMPLEMENTED };
  };
  const place = await placeAt(proxy.port);
  const [store, other] = [await openPlace(place, BRISK), await openPlace(place, BRISK)];
  const options = { signal: never };
  for (const size of [5, 20 * MIB]) {
    const bytes = bytesOf(size);
    expect(await store.put(`new/${size}`, bodyOf(bytes), options)).toEqual({ bytes: size });
    expect((await read(store.get(`new/${size}`, options))).equals(bytes)).toBe(true);
    expect(await refused(store.put(`new/${size}`, bodyOf(bytesOf(3)), options))).toBe("ObjectExists");
    const first = bytesOf(7);
    async function* overtaken() {
      await other.put(`raced/${size}`, bodyOf(first), options);
      yield* bodyOf(bytes);
    }
    expect(await refused(store.put(`raced/${size}`, overtaken(), options))).toBe("ObjectExists");
    expect((await read(store.get(`raced/${size}`, options))).equals(first)).toBe(true);
  }
  const archived = { needsCondition: true, signal: never };
  expect(await refused(store.put("archived", bodyOf(bytesOf(3)), archived))).toBe("InvalidLocation");
  expect(await store.head("archived", options)).toBeUndefined();
  expect(refusals).toBe(7); // once for each write that was not refused before
  await Promise.all([store.close(), other.close()]);
  await proxy.stop();
});

test("S3: encryption, class and tags are in the requests that begin an object, and in no other", async () => {
  const proxy = await startAnsweringProxy(server.port);
  const sent = new Map<Phase, Record<string, unknown>>();
  const NAMES = ["server-side-encryption", "server-side-encryption-aws-kms-key-id", "storage-class", "tagging"];
  proxy.instead = (asked) => {
    sent.set(phaseOf(asked), Object.fromEntries(NAMES.map((name) => [name, asked.headers[`x-amz-${name}`]])));
    if (phaseOf(asked) === "whole") return { status: 200, headers: { etag: '"a"' } };
    if (phaseOf(asked) !== "begin") return undefined;
    const body = "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>";
    return { status: 200, headers: { "content-type": "application/xml" }, body };
  };
  const { location, ...rest } = await placeAt(proxy.port);
  const storage = {
    serverSideEncryption: "aws:kms",
    kmsKeyID: "alias/backups",
    storageClass: "STANDARD_IA",
    tags: { team: "shop & co", empty: "" },
  } as const;
  const store = await openPlace({ ...rest, location: { ...(location as S3Location), storage } }, BRISK);
  await store.put("small", bodyOf(bytesOf(5)), { signal: never });
  await refused(store.put("large", bodyOf(bytesOf(20 * MIB)), { signal: never })); // The server knows no such upload.
  const wanted = Object.fromEntries(
    NAMES.map((name, at) => [name, ["aws:kms", "alias/backups", "STANDARD_IA", "team=shop+%26+co&empty="][at]]),
  );
  const none = Object.fromEntries(NAMES.map((name) => [name, undefined]));
  expect(Object.fromEntries(sent)).toMatchObject({ look: none, whole: wanted, begin: wanted, part: none });
  await store.close();
  const plain = await openPlace({ ...rest, location }, BRISK);
  await plain.put("plain", bodyOf(bytesOf(5)), { signal: never });
  expect(sent.get("whole")).toEqual(none);
  await plain.close();
  await proxy.stop();
});

const NO_SUCH_UPLOAD =
  "<Error><Code>NoSuchUpload</Code><Message>The specified multipart upload does not exist.</Message></Error>";

describe("S3 that no longer knows a multipart upload", () => {
  const options = { signal: never };
  const lost = { status: 404, headers: { "content-type": "application/xml" }, body: NO_SUCH_UPLOAD };

  test("after a completion with a lost answer: the object is there, and the write succeeds", async () => {
    const proxy = await startAnsweringProxy(server.port);
    let completions = 0;
    proxy.instead = (asked) => {
      if (phaseOf(asked) !== "commit") return undefined;
      return ++completions === 1 ? "lost" : lost;
    };
    const store = await openPlace(await placeAt(proxy.port), BRISK);
    const bytes = bytesOf(20 * MIB);
    expect(await store.put("large", bodyOf(bytes), options)).toEqual({ bytes: bytes.length });
    expect(completions).toBe(2);
    expect((await read(store.get("large", options))).equals(bytes)).toBe(true);
    await store.close();
    await proxy.stop();
  });

  test.each(["part", "commit"] as const)("at the %s: the message names that, and there is no object", async (phase) => {
    const proxy = await startAnsweringProxy(server.port);
    proxy.instead = (asked) => (phaseOf(asked) === phase ? lost : undefined);
    const store = await openPlace(await placeAt(proxy.port), BRISK);
    const put = store.put("large", bodyOf(bytesOf(20 * MIB)), options);
    await expect(put).rejects.toThrow(/the store no longer has the upload \(NoSuchUpload\)/);
    expect(await refused(put)).toBe("Other");
    expect(await store.head("large", options)).toBeUndefined();
    await store.close();
    await proxy.stop();
  });

  test("at the commit, while the key has an object of another writer: the write fails, and that object stays", async () => {
    const proxy = await startAnsweringProxy(server.port);
    const place = await placeAt(proxy.port);
    const [store, other] = [await openPlace(place, BRISK), await openPlace(place, BRISK)];
    const theirs = bytesOf(7);
    proxy.instead = (asked) => (phaseOf(asked) === "commit" ? lost : undefined);
    async function* overtaken() {
      await other.put("large", bodyOf(theirs), options);
      yield* bodyOf(bytesOf(20 * MIB));
    }
    expect(await refused(store.put("large", overtaken(), options))).toBe("Other");
    expect((await read(store.get("large", options))).equals(theirs)).toBe(true);
    await Promise.all([store.close(), other.close()]);
    await proxy.stop();
  });
});
