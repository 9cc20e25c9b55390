import { readFileSync } from "node:fs";
import { createServer } from "node:https";
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
import { AZURE_ACCESS, startAzurite } from "#kit/servers/azurite.ts";
import { startForwardProxy } from "#kit/servers/forward-proxy.ts";
import { newServerTLS } from "#kit/servers/server-tls.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import { azureTokenAnswer } from "#kit/servers/token-services.ts";
import type { AzureLocation } from "#objectstore/location.ts";
import { bodyOf, bytesOf, read } from "./bodies.ts";
import { BRISK, never, openPlace, type Place, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);

// Ways to authenticate that only Azure has, and the errors when that fails.

const OPTIONS = { signal: never };
const { account, key } = AZURE_ACCESS;
const CREDENTIAL = new StorageSharedKeyCredential(account, key);

/** Azure's own name of the account: the workload identity's token is sent to no other server. */
const AZURE_HOST = `${account}.blob.core.windows.net`;
const tls = await newServerTLS(["localhost", AZURE_HOST]);
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

test("Azure: a SAS token is accepted, with or without the question mark that the portal puts before it", async () => {
  const token = sas("rwdlc", inAnHour());
  await keeps({ location, credentialsDir: credentialsDir({ AZURE_STORAGE_SAS_TOKEN: token }) });
  await keeps({ location, credentialsDir: credentialsDir({ AZURE_STORAGE_SAS_TOKEN: `?${token}\n` }) });
});

test("Azure: requests use the proxy of HTTP_PROXY", async () => {
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
  ["a wrong key", { AZURE_STORAGE_KEY: OTHER_KEY }, "WrongCredentials"],
  ["neither key nor token", { "ca.crt": "x" }, "WrongCredentials"],
  ["the pod's identity, for a server that is not Azure's,", {}, "WrongCredentials"],
  ["a key together with a token", { AZURE_STORAGE_KEY: key, AZURE_STORAGE_SAS_TOKEN: "sig=x" }, "WrongCredentials"],
  ["an expired token", { AZURE_STORAGE_SAS_TOKEN: sas("rwdlc", new Date(0)) }, "WrongCredentials"],
  ["a read-only token", { AZURE_STORAGE_SAS_TOKEN: sas("r", inAnHour()) }, "AccessDenied"],
])("Azure: %s is refused with its reason, and without a secret in the error", async (_what, files, reason) => {
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

test("Azure: a missing container is reported as NoSuchBucket, for every call", async () => {
  const nowhere = { ...location, container: "nowhere" };
  const store = await openPlace({ location: nowhere, credentialsDir: credentialsDir({ AZURE_STORAGE_KEY: key }) });
  expect(await refused(store.put("a", bodyOf(bytesOf(1)), OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(read(store.get("a", OPTIONS)))).toBe("NoSuchBucket");
  expect(await refused(store.head("a", OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(store.delete("a", OPTIONS))).toBe("NoSuchBucket");
});

test("Azure: the pod's workload identity is accepted, and errors with it are reported", async () => {
  const known = getCACertificates("default");
  const subjects = credentialsDir({ token: "token of the service account" });
  const pair = { cert: readFileSync(tls.cert), key: readFileSync(tls.key) };
  const login = createServer(pair, (request, response) => {
    let form = "";
    request.on("data", (text) => {
      form += text;
    });
    request.on("end", () => {
      const isKnown = new URLSearchParams(form).get("client_assertion") === "token of the service account";
      const refusal = { error: "invalid_client", error_description: "AADSTS700211: no matching federated identity" };
      const answer = isKnown ? azureTokenAnswer() : JSON.stringify(refusal);
      response.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" }).end(answer);
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

  await new BlobServiceClient(`https://localhost:${secure.port}/${account}`, CREDENTIAL).createContainer("backups");
  const proxy = await startForwardProxy({ [`${AZURE_HOST}:443`]: secure.port });
  onTestFinished(() => proxy.stop());
  vi.stubEnv("HTTPS_PROXY", proxy.url);
  const place: Place = { location: { store: "azure", account, container: "backups" } };
  const put = async () => (await openPlace(place, BRISK)).put("b", bodyOf(bytesOf(1)), OPTIONS);
  expect(await refused(put())).toBe("WrongCredentials");

  vi.stubEnv("AZURE_CLIENT_ID", "client");
  vi.stubEnv("AZURE_TENANT_ID", "tenant");
  vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", `${subjects}/token`);
  vi.stubEnv("AZURE_AUTHORITY_HOST", `https://localhost:${(login.address() as { port: number }).port}/`);
  await keeps(place);

  vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", `${credentialsDir({ token: "another" })}/token`);
  await expect(put()).rejects.toThrow(/AADSTS700211/);
  expect(await refused(put())).toBe("WrongCredentials");
  vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", "/nowhere");
  expect(await refused(put())).toBe("WrongCredentials");
});
