import { afterAll, expect, test } from "vitest";
import { newServiceAccount, startFakeGCS } from "#kit/servers/fake-gcs.ts";
import { startGCSSessions } from "#kit/servers/gcs-sessions.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import type { GCSLocation } from "#objectstore/location.ts";
import { bodyOf, bytesOf, MIB, read } from "./bodies.ts";
import { BRISK, never, openPlace, type Place, storeContract } from "./contract.ts";
import { networkContract } from "./network.ts";

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
