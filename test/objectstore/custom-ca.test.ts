import { BlobServiceClient, StorageSharedKeyCredential } from "@azure/storage-blob";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { mountToken } from "#kit/pods/pod-token.ts";
import { startAnsweringServer } from "#kit/servers/answering-server.ts";
import { AZURE_ACCESS, startAzurite } from "#kit/servers/azurite.ts";
import { newServiceAccount, startFakeGCS } from "#kit/servers/fake-gcs.ts";
import { startForwardProxy } from "#kit/servers/forward-proxy.ts";
import { startGoogleCloud, workloadIdentity } from "#kit/servers/google-cloud.ts";
import { leadTo } from "#kit/servers/names.ts";
import { newServerTLS } from "#kit/servers/server-tls.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import { azureTokenAnswer, stsAnswer } from "#kit/servers/token-services.ts";
import { S3_ACCESS, startVersitygw } from "#kit/servers/versitygw.ts";
import type { StoreLocation } from "#objectstore/location.ts";
import { bodyOf, read } from "./bodies.ts";
import { BRISK, never, openPlace, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);

// `ca.crt` in the Secret, for stores and token services with certificates of a private CA. Nothing else in this process
// trusts that CA.

const OPTIONS = { signal: never };
const token = mountToken("known");
afterAll(() => token.remove());
const other = await newServerTLS();

type Files = Readonly<Record<string, string>>;

/** Puts a small object, reads it back and deletes it. */
async function keeps(location: StoreLocation, files: Files): Promise<void> {
  const store = await openPlace({ location, credentialsDir: credentialsDir(files) }, BRISK);
  try {
    await store.put("a/b", bodyOf(Buffer.from("kept")), OPTIONS);
    expect((await read(store.get("a/b", OPTIONS))).toString()).toBe("kept");
    await store.delete("a/b", OPTIONS);
  } finally {
    await store.close();
  }
}

/** The certificate is trusted with its CA only. */
async function needs(ca: string, location: StoreLocation, files: Files): Promise<void> {
  expect(await refused(keeps(location, { ...files, "ca.crt": other.ca }))).toBe("TLS");
  await keeps(location, { ...files, "ca.crt": `# the CA\n${ca}` });
  await keeps(location, { ...files, "ca.crt": `${other.ca}\n${ca}` });
}

describe("S3 with ca.crt", async () => {
  const tls = await newServerTLS();
  const server = await startVersitygw({ tls });
  const sts = await startAnsweringServer(() => ({ status: 200, body: stsAnswer() }), tls);
  afterAll(() => Promise.all([server.stop(), sts.stop()]));
  afterEach(() => void vi.unstubAllEnvs());
  const endpoint = `https://localhost:${server.port}`;
  const location = { store: "s3", bucket: server.bucket("backups"), endpoint, pathStyle: true } as const;

  test("a web identity is exchanged at a token service of that CA", async () => {
    vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", token.file);
    vi.stubEnv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/tests");
    vi.stubEnv("AWS_ENDPOINT_URL_STS", `https://localhost:${sts.port}`);
    await needs(tls.ca, location, {});
    expect(sts.received.at(-1)?.body).toContain("WebIdentityToken=known");
  });

  test("keys are used with that CA", async () => {
    await needs(tls.ca, location, { AWS_ACCESS_KEY_ID: S3_ACCESS.id, AWS_SECRET_ACCESS_KEY: S3_ACCESS.secret });
  });

  test("a file that is not a certificate is refused by its name", async () => {
    for (const text of [
      "none",
      tls.ca.replaceAll("A", "B"),
      "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
    ]) {
      const opened = keeps(location, { "ca.crt": text });
      await expect(opened).rejects.toThrow(/^ca\.crt in the Secret .* has no valid certificate; it must have/);
      expect(await refused(opened)).toBe("WrongCredentials");
    }
  });
});

describe("Google Cloud Storage with ca.crt", () => {
  async function started(options: { readonly address?: string }) {
    const server = await startFakeGCS();
    const google = await startGoogleCloud({ known: "known", storagePort: server.port, isTrusted: false, ...options });
    const body = JSON.stringify({ name: "backups" });
    await fetch(`http://127.0.0.1:${server.port}/storage/v1/b`, { method: "POST", body });
    return { google, stop: () => Promise.all([google.stop(), server.stop()]) };
  }

  const location = { store: "gcs", bucket: "backups", endpoint: "https://storage.googleapis.com" } as const;
  const asked = (requests: readonly { readonly host: string }[]) => new Set(requests.map(({ host }) => host));

  test("a service account gets its token, and the store is used, through a proxy that inspects TLS", async () => {
    const { google, stop } = await started({});
    await needs(google.ca, location, { "credentials.json": newServiceAccount().file });
    expect(asked(google.requests)).toEqual(new Set(["oauth2.googleapis.com", "storage.googleapis.com"]));
    await stop();
  });

  test("a workload identity is exchanged at the Security Token Service, and impersonates", async () => {
    const { google, stop } = await started({ address: "127.0.45.1" });
    google.instead = ({ host }) => {
      if (!host.startsWith("iamcredentials")) return undefined;
      const expireTime = new Date(Date.now() + 3_600_000).toISOString();
      return { status: 200, body: JSON.stringify({ accessToken: "impersonated", expireTime }) };
    };
    const service_account_impersonation_url =
      "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.iam.gserviceaccount.com:generateAccessToken";
    const file = workloadIdentity(token.file, { service_account_impersonation_url });
    await needs(google.ca, location, { "credentials.json": file });
    const hosts = ["sts.googleapis.com", "iamcredentials.googleapis.com", "storage.googleapis.com"];
    expect(asked(google.requests)).toEqual(new Set(hosts));
    await stop();
  });

  test("the node's identity is used when the Secret has only ca.crt", async () => {
    const { google, stop } = await started({ address: "127.0.45.2" });
    const metadata = await startAnsweringServer(() => ({
      status: 200,
      headers: { "content-type": "application/json", "metadata-flavor": "Google" },
      body: JSON.stringify({ access_token: "of-the-node", expires_in: 3600, token_type: "Bearer" }),
    }));
    vi.stubEnv("GCE_METADATA_HOST", `127.0.0.1:${metadata.port}`);
    await needs(google.ca, location, {});
    expect(google.requests.at(-1)?.authorization).toBe("Bearer of-the-node");
    await Promise.all([stop(), metadata.stop()]);
  });
});

describe("Azure with ca.crt", async () => {
  const { account, key } = AZURE_ACCESS;
  const host = `${account}.blob.core.windows.net`;
  const tls = await newServerTLS(["localhost", host]);
  const [server, plain] = await Promise.all([startAzurite(tls), startAzurite()]);
  const login = await startAnsweringServer(() => ({ status: 200, body: azureTokenAnswer() }), tls);
  afterAll(() => Promise.all([server.stop(), plain.stop(), login.stop()]));
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });
  const location = { store: "azure", account, container: "backups" } as const;
  const at = (base: string) => ({ ...location, endpoint: base });

  /** Azurite accepts a workload identity's token over TLS only, and no client without the CA can create a container. */
  async function container(endpoint: string): Promise<void> {
    const credential = new StorageSharedKeyCredential(account, key);
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    await new BlobServiceClient(endpoint, credential).getContainerClient("backups").createIfNotExists();
    vi.unstubAllEnvs();
  }

  test("a key is used with that CA, also through a proxy that inspects TLS", async () => {
    const endpoint = `https://localhost:${server.port}/${account}`;
    await container(endpoint);
    await needs(tls.ca, at(endpoint), { AZURE_STORAGE_KEY: key });
    const proxy = await startForwardProxy();
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    await needs(tls.ca, at(endpoint), { AZURE_STORAGE_KEY: key });
    expect([...proxy.asked]).toEqual([`localhost:${server.port}`]);
    await proxy.stop();
  });

  test("a server without TLS is used with ca.crt, too", async () => {
    const endpoint = `http://127.0.0.1:${plain.port}/${account}`;
    await container(endpoint);
    await keeps(at(endpoint), { AZURE_STORAGE_KEY: key, "ca.crt": tls.ca });
  });

  test("a workload identity is exchanged at a token service of that CA", async () => {
    leadTo("127.0.0.1", [host]);
    await container(`https://${host}:${server.port}`);
    vi.stubEnv("AZURE_CLIENT_ID", "client");
    vi.stubEnv("AZURE_TENANT_ID", "tenant");
    vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", token.file);
    vi.stubEnv("AZURE_AUTHORITY_HOST", `https://localhost:${login.port}/`);
    await needs(tls.ca, at(`https://${host}:${server.port}`), {});
    expect(login.received.at(-1)?.body).toContain("client_assertion=known");
  });
});
