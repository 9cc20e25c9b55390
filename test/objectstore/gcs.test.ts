import { afterAll, expect, test } from "vitest";
import { type Asked, startAnsweringProxy } from "#kit/servers/answering-proxy.ts";
import { newServiceAccount, startFakeGCS } from "#kit/servers/fake-gcs.ts";
import { startGCSSessions } from "#kit/servers/gcs-sessions.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import type { GCSLocation } from "#objectstore/location.ts";
import { bodyOf, bytesOf, MIB, read } from "./bodies.ts";
import { BRISK, never, openPlace, type Place, refused, storeContract } from "./contract.ts";
import { networkContract } from "./network.ts";
import { outageContract, type Phase } from "./outages.ts";

afterAll(removeTemporaryDirs);

const fake = await startFakeGCS();
const server = await startGCSSessions(fake.port);
afterAll(() => Promise.all([server.stop(), fake.stop()]));

const account = newServiceAccount();
const KNOWN = credentialsDir({ "credentials.json": account.file });
let count = 0;

/** A new bucket, reached at this port. */
async function place(port: number): Promise<GCSLocation> {
  const bucket = `bucket-${count++}`;
  const body = JSON.stringify({ name: bucket });
  const answer = await fetch(`http://127.0.0.1:${server.port}/storage/v1/b`, { method: "POST", body });
  if (!answer.ok) throw new Error(`the bucket was not created: HTTP ${answer.status}`);
  return { store: "gcs", bucket, endpoint: `http://127.0.0.1:${port}` };
}

const placeAt = async (port: number): Promise<Place> => ({ location: await place(port), credentialsDir: KNOWN });

storeContract("Google Cloud Storage", () => ({
  partBytes: 8 * MIB,
  secrets: account.secrets,
  place: () => placeAt(server.port),
  unfinished: () => Promise.resolve(server.unfinished),
}));

networkContract("Google Cloud Storage", () => server.port, placeAt);

/** A small object is uploaded like a large one: `begin`, then `commit` with all its bytes. */
function phaseOf({ method, url: { pathname, searchParams }, headers }: Asked): Phase {
  if (method === "DELETE") return "delete";
  if (method === "POST") return "begin";
  if (method === "PUT") return headers["content-range"]?.endsWith("/*") ? "part" : "commit";
  if (searchParams.has("alt")) return "read";
  return pathname.endsWith("/o") ? "list" : "look";
}

const BACKEND_ERROR = { code: 503, message: "Backend Error", errors: [{ reason: "backendError" }] };

outageContract(
  "Google Cloud Storage",
  {
    phaseOf,
    phases: ["look", "begin", "part", "commit", "read", "list", "delete"],
    busy: {
      status: 503,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ error: BACKEND_ERROR }),
    },
  },
  () => server.port,
  placeAt,
);

test.each([404, 410])(
  "Google Cloud Storage: a session that is answered with %i is named, and there is no object",
  async (status) => {
    const proxy = await startAnsweringProxy(server.port);
    const store = await openPlace(await placeAt(proxy.port), BRISK);
    for (const phase of ["part", "commit"] as const) {
      proxy.instead = (asked) => (phaseOf(asked) === phase ? { status } : undefined);
      const put = store.put("large", bodyOf(bytesOf(20 * MIB)), { signal: never });
      await expect(put).rejects.toThrow(/the store no longer has the upload \(HTTP 4/);
      expect(await refused(put)).toBe("Other");
      expect(await store.head("large", { signal: never })).toBeUndefined();
    }
    await store.close();
    await proxy.stop();
  },
);

test("Google Cloud Storage: the page of a proxy with 404 proves nothing about object and bucket", async () => {
  const proxy = await startAnsweringProxy(server.port);
  const store = await openPlace(await placeAt(proxy.port), BRISK);
  const page = { status: 404, headers: { "content-type": "text/html" }, body: "<html>no such route</html>" };
  proxy.instead = () => page;
  expect(await refused(store.head("a", { signal: never }))).toBe("Other");
  await store.close();
  await proxy.stop();
});

test("Google Cloud Storage: a session that is unknown after a lost answer is no failure if the object is there", async () => {
  const proxy = await startAnsweringProxy(server.port);
  const store = await openPlace(await placeAt(proxy.port), BRISK);
  for (const size of [5, 20 * MIB]) {
    let commits = 0;
    proxy.instead = (asked) => {
      if (phaseOf(asked) !== "commit") return undefined;
      return ++commits === 1 ? "lost" : { status: 404 };
    };
    const bytes = bytesOf(size);
    expect(await store.put(`lost/${size}`, bodyOf(bytes), { signal: never })).toEqual({ bytes: size });
    expect(commits).toBe(2);
    expect((await read(store.get(`lost/${size}`, { signal: never }))).equals(bytes)).toBe(true);
  }
  await store.close();
  await proxy.stop();
});

test("Google Cloud Storage: after a broken connection only the missing rest of a part is sent again", async () => {
  const store = await openPlace(await placeAt(server.port), BRISK);
  const bytes = bytesOf(20 * MIB);
  async function* breaking() {
    server.breakNext();
    yield* bodyOf(bytes.subarray(0, 17 * MIB));
    server.breakNext();
    yield* bodyOf(bytes.subarray(17 * MIB));
  }
  const before = server.asked;
  expect(await store.put("half", breaking(), { signal: never })).toEqual({ bytes: bytes.length });
  expect((await read(store.get("half", { signal: never }))).equals(bytes)).toBe(true);
  expect(server.asked - before).toBe(2);
});
