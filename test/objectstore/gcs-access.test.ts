import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { startFakeGCS, startTokenServer, workloadIdentity } from "#kit/fake-gcs.ts";
import { startForwardProxy } from "#kit/forward-proxy.ts";
import { credentialsDir, freePort, removeTemporaryDirs } from "#kit/store-server.ts";
import type { GCSLocation } from "#objectstore/location.ts";
import { bodyOf, bytesOf, read } from "./bodies.ts";
import { BRISK, never, openPlace, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);

// What only Google has: ways to be let in, and the errors of those who are not.

const OPTIONS = { signal: never };
const [server, tokens] = await Promise.all([startFakeGCS(), startTokenServer("known")]);
afterAll(() => Promise.all([server.stop(), tokens.stop()]));

const endpoint = `http://127.0.0.1:${server.port}`;
const location: GCSLocation = { store: "gcs", bucket: "backups", endpoint };
await fetch(`${endpoint}/storage/v1/b`, { method: "POST", body: JSON.stringify({ name: "backups" }) });

const subjects = credentialsDir({ known: "known", unknown: "unknown" });
const identity = (subject: string, url = tokens.url) => workloadIdentity(url, join(subjects, subject));
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const PEM = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const serviceAccount = (key: string) =>
  JSON.stringify({ type: "service_account", client_email: "tests@tests.invalid", private_key: key });

test("Google: one token serves many calls", async () => {
  const store = await openPlace({
    location,
    credentialsDir: credentialsDir({ "credentials.json": identity("known") }),
  });
  const before = tokens.given;
  await store.put("a", bodyOf(bytesOf(1)), OPTIONS);
  await store.delete("a", OPTIONS);
  expect(tokens.given - before).toBe(1);
});

test("Google: through the proxy of HTTP_PROXY, store and tokens alike", async () => {
  const { url, asked, stop } = await startForwardProxy();
  vi.stubEnv("HTTP_PROXY", url);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await stop();
  });
  const store = await openPlace({
    location,
    credentialsDir: credentialsDir({ "credentials.json": identity("known") }),
  });
  expect(await store.head("a", OPTIONS)).toBeUndefined();
  await store.close();
  expect([...asked].sort()).toEqual([new URL(tokens.url).host, new URL(endpoint).host].sort());
});

test("Google: without a Secret the pod's own identity lets in", async () => {
  const files = credentialsDir({ "credentials.json": identity("known") });
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", join(files, "credentials.json"));
  onTestFinished(() => void vi.unstubAllEnvs());
  const store = await openPlace({ location }, BRISK);
  expect(await store.head("a", OPTIONS)).toBeUndefined();
});

test("Google: without a file it is who the server beside the pod says", async () => {
  const asked: string[] = [];
  const metadata = createServer((request, response) => {
    asked.push(request.url ?? "");
    const body = JSON.stringify({ access_token: "token", expires_in: 3600, token_type: "Bearer" });
    response.writeHead(200, { "content-type": "application/json", "metadata-flavor": "Google" }).end(body);
  });
  await new Promise<void>((done) => metadata.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    vi.unstubAllEnvs();
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
  ["an identity that is not believed", identity("unknown"), "WrongCredentials", /invalid_grant: The subject token/],
  ["a token file that is not there", identity("absent"), "WrongCredentials", /absent/],
  ["no JSON", "private_key: none", "WrongCredentials", /no JSON object; it may be the key file/],
  ["JSON that is no object", '"text"', "WrongCredentials", /no JSON object/],
  [
    "another kind",
    '{"type":"impersonated_service_account"}',
    "WrongCredentials",
    /"impersonated_.*; it may be "service/,
  ],
  ["no kind", "{}", "WrongCredentials", /type in credentials.json .* is undefined; it may be/],
  [
    "a key file without its key",
    '{"type":"service_account","client_email":"x"}',
    "WrongCredentials",
    /has no private_key/,
  ],
  ["a key that is none", serviceAccount(PEM.replaceAll("A", "B")), "WrongCredentials", /no token/],
])("Google: %s is told by name, and without a secret", async (_what, file, reason, says) => {
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

test("Google: who gives tokens is away: Unreachable", async () => {
  const away = identity("known", `http://127.0.0.1:${await freePort()}/v1/token`);
  const place = { location, credentialsDir: credentialsDir({ "credentials.json": away }) };
  const store = await openPlace(place, BRISK);
  expect(await refused(store.head("a", OPTIONS))).toBe("Unreachable");
});

test("Google: a bucket that is not there is told by name, for every call", async () => {
  const place = { location: { ...location, bucket: "nowhere" } };
  const directory = credentialsDir({ "credentials.json": identity("known") });
  const store = await openPlace({ ...place, credentialsDir: directory }, BRISK);
  expect(await refused(store.put("a", bodyOf(bytesOf(1)), OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(read(store.get("a", OPTIONS)))).toBe("NoSuchBucket");
  expect(await refused(store.head("a", OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(store.delete("a", OPTIONS))).toBe("NoSuchBucket");
});
