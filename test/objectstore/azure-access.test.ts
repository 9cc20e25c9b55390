import { createServer } from "node:http";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  BlobServiceClient,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from "@azure/storage-blob";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { AZURE_ACCESS, startAzurite } from "#kit/azurite.ts";
import { startForwardProxy } from "#kit/forward-proxy.ts";
import { newServerTLS } from "#kit/server-tls.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/store-server.ts";
import type { AzureLocation } from "#objectstore/location.ts";
import { bodyOf, bytesOf, read } from "./bodies.ts";
import { BRISK, never, openPlace, type Place, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);

// What only Azure has: ways to be let in, and the errors of those who are not.

const OPTIONS = { signal: never };
const { account, key } = AZURE_ACCESS;
const CREDENTIAL = new StorageSharedKeyCredential(account, key);

const tls = await newServerTLS();
const [plain, secure] = await Promise.all([startAzurite(), startAzurite(tls)]);
afterAll(() => Promise.all([plain.stop(), secure.stop()]));

const ENDPOINT = `http://127.0.0.1:${plain.port}/${account}`;
const location: AzureLocation = { store: "azure", account, container: "backups", endpoint: ENDPOINT };
await new BlobServiceClient(ENDPOINT, CREDENTIAL).createContainer("backups");

async function keeps(place: Place): Promise<void> {
  const store = await openPlace(place, BRISK);
  await store.put("a/b", bodyOf(Buffer.from("kept")), OPTIONS);
  expect((await read(store.get("a/b", OPTIONS))).toString()).toBe("kept");
  await store.delete("a/b", OPTIONS);
  await store.close();
}

function sas(permissions: string, expiresOn: Date): string {
  return generateAccountSASQueryParameters(
    {
      expiresOn,
      permissions: AccountSASPermissions.parse(permissions),
      resourceTypes: AccountSASResourceTypes.parse("co").toString(),
      services: AccountSASServices.parse("b").toString(),
    },
    CREDENTIAL,
  ).toString();
}

const inAnHour = () => new Date(Date.now() + 3_600_000);

test("Azure: a SAS token lets in, with or without the question mark that the portal puts before it", async () => {
  const token = sas("rwdlc", inAnHour());
  await keeps({ location, credentialsDir: credentialsDir({ AZURE_STORAGE_SAS_TOKEN: token }) });
  await keeps({ location, credentialsDir: credentialsDir({ AZURE_STORAGE_SAS_TOKEN: `?${token}\n` }) });
});

test("Azure: through the proxy of HTTP_PROXY", async () => {
  const { url, asked, stop } = await startForwardProxy();
  vi.stubEnv("HTTP_PROXY", url);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await stop();
  });
  await keeps({ location, credentialsDir: credentialsDir({ AZURE_STORAGE_KEY: key }) });
  expect([...asked]).toEqual([`127.0.0.1:${plain.port}`]);
});

const OTHER_KEY = Buffer.from("another key").toString("base64");

test.each([
  ["another key", { AZURE_STORAGE_KEY: OTHER_KEY }, "WrongCredentials"],
  ["neither key nor token", { "ca.crt": "x" }, "WrongCredentials"],
  ["nothing, which leaves the pod's identity, over HTTP", {}, "TLS"],
  ["both", { AZURE_STORAGE_KEY: key, AZURE_STORAGE_SAS_TOKEN: "sig=x" }, "WrongCredentials"],
  ["a token whose time is over", { AZURE_STORAGE_SAS_TOKEN: sas("rwdlc", new Date(0)) }, "WrongCredentials"],
  ["a token that may only read", { AZURE_STORAGE_SAS_TOKEN: sas("r", inAnHour()) }, "AccessDenied"],
])("Azure: %s is told by name, and without a secret", async (_what, files, reason) => {
  const put = async () => {
    const store = await openPlace({ location, credentialsDir: credentialsDir(files) }, BRISK);
    await store.put("a", bodyOf(bytesOf(1)), OPTIONS);
  };
  const said = await put().catch((thrown: Error) => thrown.message);
  expect(await refused(put())).toBe(reason);
  for (const secret of Object.values(files)) {
    const signature = new URLSearchParams(secret).get("sig");
    expect(said).not.toContain(secret);
    if (signature !== null && signature !== "x") expect(said).not.toContain(signature);
  }
});

test("Azure: a container that is not there is told by name, for every call", async () => {
  const nowhere = { ...location, container: "nowhere" };
  const store = await openPlace({ location: nowhere, credentialsDir: credentialsDir({ AZURE_STORAGE_KEY: key }) });
  expect(await refused(store.put("a", bodyOf(bytesOf(1)), OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(read(store.get("a", OPTIONS)))).toBe("NoSuchBucket");
  expect(await refused(store.head("a", OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(store.delete("a", OPTIONS))).toBe("NoSuchBucket");
});

/** Azurite looks at what a token is for. */
function bearerToken(): string {
  const nowS = Math.floor(Date.now() / 1000);
  const claims = {
    aud: "https://storage.azure.com",
    iss: "https://sts.windows.net/tests/",
    nbf: nowS - 60,
    iat: nowS - 60,
  };
  const parts = [
    { alg: "none", typ: "JWT" },
    { ...claims, exp: nowS + 3600 },
  ];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.unsigned`;
}

test("Azure: the pod's workload identity lets in, and what is wrong with it is told", async () => {
  const known = getCACertificates("default");
  const subjects = credentialsDir({ token: "token of the service account" });
  const login = createServer((request, response) => {
    let form = "";
    request.on("data", (text) => {
      form += text;
    });
    request.on("end", () => {
      const isKnown = new URLSearchParams(form).get("client_assertion") === "token of the service account";
      const answer = isKnown
        ? { access_token: bearerToken(), token_type: "Bearer", expires_in: 3600 }
        : { error: "invalid_client", error_description: "AADSTS700211: no matching federated identity" };
      response.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((done) => login.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    setDefaultCACertificates(known);
    vi.unstubAllEnvs();
    login.closeAllConnections();
    login.close();
  });
  setDefaultCACertificates([...known, tls.ca]);

  const endpoint = `https://localhost:${secure.port}/${account}`;
  await new BlobServiceClient(endpoint, CREDENTIAL).createContainer("backups");
  const place: Place = { location: { ...location, endpoint } };
  const put = async () => (await openPlace(place, BRISK)).put("b", bodyOf(bytesOf(1)), OPTIONS);
  expect(await refused(put())).toBe("WrongCredentials");

  vi.stubEnv("AZURE_CLIENT_ID", "client");
  vi.stubEnv("AZURE_TENANT_ID", "tenant");
  vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", `${subjects}/token`);
  vi.stubEnv("AZURE_AUTHORITY_HOST", `http://127.0.0.1:${(login.address() as { port: number }).port}/`);
  await keeps(place);

  vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", `${credentialsDir({ token: "another" })}/token`);
  await expect(put()).rejects.toThrow(/AADSTS700211/);
  expect(await refused(put())).toBe("WrongCredentials");
  vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", "/nowhere");
  expect(await refused(put())).toBe("WrongCredentials");
});
