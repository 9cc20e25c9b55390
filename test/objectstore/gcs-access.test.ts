import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { mountToken } from "#kit/pods/pod-token.ts";
import { startFakeGCS } from "#kit/servers/fake-gcs.ts";
import { freePort } from "#kit/servers/free-port.ts";
import { startGoogleCloud, workloadIdentity } from "#kit/servers/google-cloud.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import type { GCSLocation } from "#objectstore/location.ts";
import { bodyOf, bytesOf, read } from "./bodies.ts";
import { BRISK, never, openPlace, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);

// Ways to authenticate that only Google has, and the errors when that fails.

const OPTIONS = { signal: never };
const server = await startFakeGCS();
const google = await startGoogleCloud({ known: "known", storagePort: server.port });
const [known, unknown] = [mountToken("known"), mountToken("unknown")];
afterAll(async () => {
  for (const token of [known, unknown]) token.remove();
  await Promise.all([server.stop(), google.stop()]);
});

const location: GCSLocation = { store: "gcs", bucket: "backups", endpoint: "https://storage.googleapis.com" };
await fetch(`http://127.0.0.1:${server.port}/storage/v1/b`, {
  method: "POST",
  body: JSON.stringify({ name: "backups" }),
});

const identity = (file = known.file) => workloadIdentity(file);
const tokensGiven = () => google.requests.filter(({ host }) => host === "sts.googleapis.com").length;
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const PEM = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const serviceAccount = (key: string) =>
  JSON.stringify({ type: "service_account", client_email: "tests@tests.invalid", private_key: key });

test("Google: one token is used for many calls, through the proxy of HTTPS_PROXY", async () => {
  const store = await openPlace({
    location,
    credentialsDir: credentialsDir({ "credentials.json": identity() }),
  });
  const before = tokensGiven();
  await store.put("a", bodyOf(bytesOf(1)), OPTIONS);
  await store.delete("a", OPTIONS);
  expect(tokensGiven() - before).toBe(1);
});

test("Google: without a Secret the pod's own identity is used", async () => {
  const files = credentialsDir({ "credentials.json": identity() });
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", join(files, "credentials.json"));
  onTestFinished(() => void vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", ""));
  const store = await openPlace({ location }, BRISK);
  expect(await store.head("a", OPTIONS)).toBeUndefined();
});

test("Google: without a credentials file the identity of the metadata server is used", async () => {
  const asked: string[] = [];
  const metadata = createServer((request, response) => {
    asked.push(request.url ?? "");
    const body = JSON.stringify({ access_token: "token", expires_in: 3600, token_type: "Bearer" });
    response.writeHead(200, { "content-type": "application/json", "metadata-flavor": "Google" }).end(body);
  });
  await new Promise<void>((done) => metadata.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    vi.stubEnv("GCE_METADATA_HOST", "");
    metadata.closeAllConnections();
    metadata.close();
  });
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "");
  vi.stubEnv("GCE_METADATA_HOST", `127.0.0.1:${(metadata.address() as { port: number }).port}`);
  const store = await openPlace({ location }, BRISK);
  expect(await store.head("a", OPTIONS)).toBeUndefined();
  expect(asked.some((path) => path.includes("/service-accounts/default/token"))).toBe(true);
});

test.each([
  ["an untrusted identity", identity(unknown.file), "WrongCredentials", /invalid_grant: The subject token/],
  ["a missing token file", identity("/var/run/secrets/absent/token"), "WrongCredentials", /absent/],
  ["a file that is not JSON", "private_key: none", "WrongCredentials", /not a JSON object; it may be the key file/],
  ["JSON that is not an object", '"text"', "WrongCredentials", /not a JSON object/],
  [
    "an unsupported type",
    '{"type":"impersonated_service_account"}',
    "WrongCredentials",
    /"impersonated_.*; it may be "service/,
  ],
  ["a missing type", "{}", "WrongCredentials", /type in credentials.json .* is undefined; it may be/],
  [
    "a key file without its key",
    '{"type":"service_account","client_email":"x"}',
    "WrongCredentials",
    /has no private_key/,
  ],
  ["an invalid key", serviceAccount(PEM.replaceAll("A", "B")), "WrongCredentials", /no token/],
])("Google: %s is refused with its reason, and without a secret in the error", async (_what, file, reason, says) => {
  const put = async () => {
    const directory = credentialsDir({ "credentials.json": file });
    const store = await openPlace({ location, credentialsDir: directory }, BRISK);
    await store.put("a", bodyOf(bytesOf(1)), OPTIONS);
  };
  expect(await refused(put())).toBe(reason);
  const said = await put().catch((thrown: Error) => thrown.message);
  expect(said).toMatch(says);
  for (const line of PEM.split("\n").filter((each) => each.length > 20)) {
    expect(said).not.toContain(line);
    expect(said).not.toContain(line.replaceAll("A", "B"));
  }
});

test("Google: an unreachable token server is reported as Unreachable", async () => {
  vi.stubEnv("HTTPS_PROXY", `http://127.0.0.1:${await freePort()}`);
  onTestFinished(() => void vi.stubEnv("HTTPS_PROXY", google.proxyURL));
  const place = { location, credentialsDir: credentialsDir({ "credentials.json": identity() }) };
  const store = await openPlace(place, BRISK);
  expect(await refused(store.head("a", OPTIONS))).toBe("Unreachable");
});

test("Google: a server that is not Google's gets no token, and the error explains its status 401", async () => {
  const other = createServer((_request, response) => response.writeHead(401).end("{}"));
  await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    other.closeAllConnections();
    other.close();
  });
  const endpoint = `http://127.0.0.1:${(other.address() as { port: number }).port}`;
  const store = await openPlace({ location: { ...location, endpoint } }, BRISK);
  const asked = store.head("a", OPTIONS);
  await expect(asked).rejects.toThrow(/HTTP 401: .*tokens of Google are sent to no other server/);
  expect(await refused(asked)).toBe("WrongCredentials");
});

test("Google: a missing bucket is reported as NoSuchBucket, for every call", async () => {
  const place = { location: { ...location, bucket: "nowhere" } };
  const directory = credentialsDir({ "credentials.json": identity() });
  const store = await openPlace({ ...place, credentialsDir: directory }, BRISK);
  expect(await refused(store.put("a", bodyOf(bytesOf(1)), OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(read(store.get("a", OPTIONS)))).toBe("NoSuchBucket");
  expect(await refused(store.head("a", OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(store.delete("a", OPTIONS))).toBe("NoSuchBucket");
});
