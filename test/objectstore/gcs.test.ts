import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startFakeGCS, startTokenServer, workloadIdentity } from "#kit/fake-gcs.ts";
import { startGCSSessions } from "#kit/gcs-sessions.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/store-server.ts";
import type { GCSLocation } from "#objectstore/location.ts";
import { bodyOf, bytesOf, MIB, read } from "./bodies.ts";
import { BRISK, never, openPlace, type Place, storeContract } from "./contract.ts";
import { networkContract } from "./network.ts";

afterAll(removeTemporaryDirs);

const SUBJECT = "token-of-a-service-account-of-the-tests";
const [fake, tokens] = await Promise.all([startFakeGCS(), startTokenServer(SUBJECT)]);
const server = await startGCSSessions(fake.port);
afterAll(() => Promise.all([server.stop(), fake.stop(), tokens.stop()]));

const subjects = credentialsDir({ known: SUBJECT, unknown: "token-of-somebody-else" });
const credentials = (subject: string) =>
  credentialsDir({ "credentials.json": workloadIdentity(tokens.url, join(subjects, subject)) });
const KNOWN = credentials("known");
let count = 0;

/** A new bucket, whose server is reached at this port. */
async function place(port: number): Promise<GCSLocation> {
  const bucket = `bucket-${count++}`;
  const body = JSON.stringify({ name: bucket });
  const answer = await fetch(`http://127.0.0.1:${server.port}/storage/v1/b`, { method: "POST", body });
  if (!answer.ok) throw new Error(`no bucket: HTTP ${answer.status}`);
  return { store: "gcs", bucket, endpoint: `http://127.0.0.1:${port}` };
}

const placeAt = async (port: number): Promise<Place> => ({ location: await place(port), credentialsDir: KNOWN });

storeContract("Google Cloud Storage", () => ({
  partBytes: 8 * MIB,
  secrets: [SUBJECT, "token-of-the-tests"],
  place: () => placeAt(server.port),
  unfinished: () => Promise.resolve(server.unfinished),
}));

networkContract("Google Cloud Storage", () => server.port, placeAt);

test("Google Cloud Storage: of a part that half arrived only the other half is sent again", async () => {
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
