import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { mountToken } from "#kit/pods/pod-token.ts";
import { startAnsweringServer } from "#kit/servers/answering-server.ts";
import { AZURE_ACCESS } from "#kit/servers/azurite.ts";
import { freePort } from "#kit/servers/free-port.ts";
import { startGoogleCloud, workloadIdentity } from "#kit/servers/google-cloud.ts";
import { leadTo } from "#kit/servers/names.ts";
import { newServerTLS } from "#kit/servers/server-tls.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import { azureTokenAnswer, stsAnswer, stsRefusal } from "#kit/servers/token-services.ts";
import { S3_ACCESS, startVersitygw } from "#kit/servers/versitygw.ts";
import type { Patience } from "#objectstore/patience.ts";
import { BRISK, never, openPlace, type Place, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

// Identities of the pod that are wrong, and identities that the platform provides late.

const OPTIONS = { signal: never };
const token = mountToken("known.token.of-the-pod");
afterAll(() => token.remove());

/** What becomes of a request: an object that is not there is success. */
async function outcomeOf(place: Place, patience: Patience = BRISK): Promise<string> {
  const store = await openPlace(place, patience);
  const asked = store.head("a", OPTIONS).then(() => "answered");
  return await asked.catch(() => refused(asked)).finally(() => store.close());
}

async function messageOf(place: Place): Promise<string> {
  const store = await openPlace(place, BRISK);
  const message = await store.head("a", OPTIONS).then(
    () => "answered",
    (thrown: Error) => thrown.message,
  );
  await store.close();
  return message;
}

/** A path of a token that is written some attempts later. */
async function withLateToken(use: (file: string) => Promise<string>): Promise<string> {
  const file = `${dirname(token.file)}/${randomUUID()}/token`;
  const timer = setTimeout(() => {
    mkdirSync(dirname(file));
    writeFileSync(file, "known.token.of-the-pod");
  }, 250);
  try {
    return await use(file);
  } finally {
    clearTimeout(timer);
    rmSync(dirname(file), { recursive: true, force: true });
  }
}

/** Waits long enough for `withLateToken` on a busy machine. */
const PATIENT: Patience = { ...BRISK, attempts: 500 };
/** Times that a service is not there yet. */
const LATE = 2;

describe("Amazon's identities", async () => {
  const server = await startVersitygw();
  const sts = await startAnsweringServer(() => ({ status: 200, body: stsAnswer() }));
  afterAll(() => Promise.all([server.stop(), sts.stop()]));
  const endpoint = `http://127.0.0.1:${server.port}`;
  const place: Place = { location: { store: "s3", bucket: server.bucket("backups"), endpoint, pathStyle: true } };

  const asWebIdentity = (file = token.file) => {
    vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", file);
    vi.stubEnv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/tests");
    vi.stubEnv("AWS_ENDPOINT_URL_STS", `http://127.0.0.1:${sts.port}`);
  };

  test.each([
    [403, "AccessDenied", "WrongCredentials"],
    [403, "AccessDeniedException", "WrongCredentials"],
    [400, "InvalidIdentityToken", "WrongCredentials"],
    [400, "ExpiredTokenException", "WrongCredentials"],
    [403, "IDPRejectedClaim", "WrongCredentials"],
    [400, "ValidationError", "WrongCredentials"],
    [403, "RegionDisabledException", "WrongCredentials"],
    [400, "IDPCommunicationError", "Unreachable"],
    [400, "Throttling", "Unreachable"],
    [429, "TooManyRequestsException", "Unreachable"],
    [503, "ServiceUnavailable", "Unreachable"],
    [500, "InternalFailure", "Unreachable"],
  ])("a web identity for which STS answers %i %s is %s", async (status, code, reason) => {
    asWebIdentity();
    sts.answer = () => ({ status, body: stsRefusal(code, "said of known.token.of-the-pod") });
    const before = sts.received.length;
    expect(await outcomeOf(place)).toBe(reason);
    expect(sts.received.length - before).toBe(reason === "Unreachable" ? BRISK.attempts : 1);
    expect(await messageOf(place)).toMatch(
      new RegExp(`the pod's identity at Amazon: ${code}(Exception)? \\(HTTP ${status}\\)`),
    );
  });

  test("a message contains no token, although a validation error of STS repeats it", async () => {
    asWebIdentity();
    sts.answer = () => ({ status: 400, body: stsRefusal("ValidationError", "Value 'known.token.of-the-pod'") });
    expect(await messageOf(place)).not.toContain("known.token");
  });

  test("a page of a load balancer in place of STS is Unreachable or WrongCredentials by its status", async () => {
    asWebIdentity();
    for (const [status, reason] of [
      [502, "Unreachable"],
      [403, "WrongCredentials"],
    ] as const) {
      sts.answer = () => ({ status, headers: { "content-type": "text/html" }, body: "<html><h1>no</h1></html>" });
      expect(await outcomeOf(place)).toBe(reason);
    }
  });

  test("a token file that is late is waited for, and named if it never comes", async () => {
    sts.answer = () => ({ status: 200, body: stsAnswer() });
    const outcome = await withLateToken((file) => {
      asWebIdentity(file);
      return outcomeOf(place, PATIENT);
    });
    expect(outcome).toBe("answered");
    asWebIdentity("/var/run/secrets/absent/token");
    expect(await outcomeOf(place)).toBe("WrongCredentials");
    expect(await messageOf(place)).toMatch(/\/var\/run\/secrets\/absent\/token/);
  });

  const keys = () => {
    const Expiration = new Date(Date.now() + 3_600_000).toISOString();
    return { AccessKeyId: S3_ACCESS.id, SecretAccessKey: S3_ACCESS.secret, Expiration };
  };

  test.each([
    [403, "WrongCredentials", 1],
    [400, "WrongCredentials", 1],
    [404, "WrongCredentials", BRISK.attempts],
    [500, "Unreachable", BRISK.attempts],
    [503, "Unreachable", BRISK.attempts],
  ])("a node's agent that answers HTTP %i is %s after %i attempts", async (status, reason, attempts) => {
    const body = JSON.stringify({ Code: "TheCode", Message: "No association" });
    const agent = await startAnsweringServer(() => ({ status, body }));
    vi.stubEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI", `http://127.0.0.1:${agent.port}/v1/credentials`);
    expect(await outcomeOf(place)).toBe(reason);
    expect(agent.received.length).toBe(attempts);
    if (status < 500) expect(await messageOf(place)).toMatch(/TheCode: No association/);
    await agent.stop();
  });

  test("a node's agent that is not up is Unreachable, and one that is late is waited for", async () => {
    vi.stubEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI", `http://127.0.0.1:${await freePort()}/v1/credentials`);
    expect(await outcomeOf(place)).toBe("Unreachable");
    expect(await messageOf(place)).toMatch(/ECONNREFUSED/);
    for (const status of [404, 500, 503]) {
      const agent = await startAnsweringServer(() =>
        agent.received.length > LATE ? { status: 403, body: '{"Code": "UpNow"}' } : { status },
      );
      vi.stubEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI", `http://127.0.0.1:${agent.port}/v1/credentials`);
      expect(await messageOf(place)).toMatch(/UpNow/);
      expect(agent.received.length).toBe(LATE + 1);
      await agent.stop();
    }
  });

  test("a metadata server that is late is waited for, and a missing identity is WrongCredentials", async () => {
    vi.stubEnv("AWS_EC2_METADATA_SERVICE_ENDPOINT", `http://127.0.0.1:${await freePort()}`);
    expect(await outcomeOf(place)).toBe("WrongCredentials");
    let absences = 0;
    let given = 0;
    const metadata = await startAnsweringServer(({ method, url }) => {
      if (absences++ < LATE * 2) return { status: 404 };
      if (method === "PUT") return { status: 200, body: "session" };
      if (url.pathname.endsWith("/security-credentials/")) return { status: 200, body: "role" };
      given += 1;
      return { status: 200, body: JSON.stringify({ ...keys(), Token: "refused-by-the-store" }) };
    });
    vi.stubEnv("AWS_EC2_METADATA_SERVICE_ENDPOINT", `http://127.0.0.1:${metadata.port}`);
    expect(await messageOf(place)).toMatch(/InvalidToken \(HTTP 400\)/); // The store knows no session tokens.
    expect(given).toBe(1);
    await metadata.stop();
  });
});

describe("Azure's workload identity", async () => {
  const { account } = AZURE_ACCESS;
  const host = `${account}.blob.core.windows.net`;
  const tls = await newServerTLS(["localhost", host]);
  const login = await startAnsweringServer(() => ({ status: 200, body: azureTokenAnswer() }), tls);
  const blobs = await startAnsweringServer(
    () => ({ status: 404, headers: { "x-ms-error-code": "BlobNotFound" } }),
    tls,
  );
  afterAll(() => Promise.all([login.stop(), blobs.stop()]));
  const endpoint = `https://${host}:${blobs.port}`;
  const place: Place = {
    location: { store: "azure", account, container: "backups", endpoint },
    credentialsDir: credentialsDir({ "ca.crt": tls.ca }),
  };
  const asIdentity = (file = token.file) => {
    leadTo("127.0.0.1", [host]);
    vi.stubEnv("AZURE_CLIENT_ID", "client");
    vi.stubEnv("AZURE_TENANT_ID", "tenant");
    vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", file);
    vi.stubEnv("AZURE_AUTHORITY_HOST", `https://localhost:${login.port}/`);
  };

  test.each([
    [401, "invalid_client", "WrongCredentials"],
    [400, "unauthorized_client", "WrongCredentials"],
    [400, "invalid_request", "WrongCredentials"],
    [403, "access_denied", "WrongCredentials"],
    [400, "temporarily_unavailable", "Unreachable"],
    [429, "too_many_requests", "Unreachable"],
    [503, "server_error", "Unreachable"],
  ])("for which the login answers %i %s is %s", async (status, error, reason) => {
    asIdentity();
    login.answer = () => ({ status, body: JSON.stringify({ error, error_description: "AADSTS700016: no" }) });
    const before = login.received.length;
    expect(await outcomeOf(place)).toBe(reason);
    expect(login.received.length - before).toBe(reason === "Unreachable" ? BRISK.attempts : 1);
    expect(await messageOf(place)).toMatch(`answered HTTP ${status} ${error}: AADSTS700016: no`);
  });

  test.each([
    [400, "WrongCredentials"],
    [502, "Unreachable"],
    [200, "WrongCredentials"],
    [302, "WrongCredentials"],
  ])("for which a page with status %i comes in place of the login's answer is %s", async (status, reason) => {
    asIdentity();
    login.answer = () => ({ status, headers: { location: "https://localhost:1/" }, body: "<html>no</html>" });
    expect(await outcomeOf(place)).toBe(reason);
    expect(await messageOf(place)).toMatch(`answered HTTP ${status}`);
  });

  test("is waited for while its token file is late, and the file is named if it never comes", async () => {
    login.answer = () => ({ status: 200, body: azureTokenAnswer() });
    const outcome = await withLateToken((file) => {
      asIdentity(file);
      return outcomeOf(place, PATIENT);
    });
    expect(outcome).toBe("answered");
    asIdentity("/var/run/secrets/absent/token");
    expect(await outcomeOf(place)).toBe("WrongCredentials");
    expect(await messageOf(place)).toMatch(/\/var\/run\/secrets\/absent\/token/);
  });

  test("with a right token and without rights is AccessDenied", async () => {
    asIdentity();
    login.answer = () => ({ status: 200, body: azureTokenAnswer() });
    blobs.answer = () => ({ status: 403, headers: { "x-ms-error-code": "AuthorizationPermissionMismatch" } });
    expect(await outcomeOf(place)).toBe("AccessDenied");
  });
});

describe("Google's identities", async () => {
  const google = await startGoogleCloud({ known: "known.token.of-the-pod", address: "127.0.46.1" });
  afterAll(() => google.stop());
  const use = (file = token.file, fields: object = {}): Place => ({
    location: { store: "gcs", bucket: "backups" },
    credentialsDir: credentialsDir({ "credentials.json": workloadIdentity(file, fields) }),
  });
  const lead = () =>
    leadTo("127.0.46.1", ["sts.googleapis.com", "iamcredentials.googleapis.com", "storage.googleapis.com"]);
  /** The stand-in's store has no bucket, so an accepted token leads to this. */
  const ACCEPTED = "NoSuchBucket";

  test.each([
    [400, "invalid_grant", "WrongCredentials"],
    [400, "invalid_target", "WrongCredentials"],
    [401, "invalid_client", "WrongCredentials"],
    [403, "unauthorized_client", "WrongCredentials"],
    [429, "too_many", "Unreachable"],
    [503, "unavailable", "Unreachable"],
  ])("an external account for which STS answers %i %s is %s", async (status, error, reason) => {
    lead();
    google.instead = () => ({ status, body: JSON.stringify({ error, error_description: "it is said why" }) });
    const before = google.requests.length;
    expect(await outcomeOf(use())).toBe(reason);
    expect(google.requests.length - before).toBe(reason === "Unreachable" ? BRISK.attempts : 1);
    expect(await messageOf(use())).toMatch(`HTTP ${status}: ${error}: it is said why`);
  });

  test("a page of a load balancer in place of STS is Unreachable", async () => {
    lead();
    google.instead = () => ({ status: 502, body: "<html>Bad Gateway</html>" });
    expect(await outcomeOf(use())).toBe("Unreachable");
  });

  test.each([
    [403, "AccessDenied"],
    [404, "WrongCredentials"],
    [400, "WrongCredentials"],
    [503, "Unreachable"],
  ])("a service account that the identity impersonates, answered with %i, is %s", async (status, reason) => {
    lead();
    google.instead = ({ host }) =>
      host.startsWith("iamcredentials")
        ? {
            status,
            body: JSON.stringify({
              error: { code: status, message: "Permission 'getAccessToken' is said", status: "S" },
            }),
          }
        : undefined;
    const service_account_impersonation_url =
      "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.iam.gserviceaccount.com:generateAccessToken";
    const place = use(token.file, { service_account_impersonation_url });
    expect(await outcomeOf(place)).toBe(reason);
    expect(await messageOf(place)).toMatch(`HTTP ${status}: Permission 'getAccessToken' is said`);
  });

  test("a token file that is late is waited for, and named if it never comes", async () => {
    lead();
    google.instead = () => undefined;
    expect(await withLateToken((file) => outcomeOf(use(file), PATIENT))).toBe(ACCEPTED);
    expect(await outcomeOf(use("/var/run/secrets/absent/token"))).toBe("WrongCredentials");
    expect(await messageOf(use("/var/run/secrets/absent/token"))).toMatch(/\/var\/run\/secrets\/absent\/token/);
  });

  test("a metadata server that is late is waited for, and then reported as what it is", async () => {
    lead();
    const place: Place = { location: { store: "gcs", bucket: "backups" } };
    vi.stubEnv("GCE_METADATA_HOST", `127.0.0.1:${await freePort()}`);
    expect(await outcomeOf(place)).toBe("Unreachable");
    for (const [status, lasting] of [
      [404, "WrongCredentials"],
      [403, "WrongCredentials"],
      [503, "Unreachable"],
    ] as const) {
      let isUp = false;
      const metadata = await startAnsweringServer(() => {
        const headers = { "content-type": "application/json", "metadata-flavor": "Google" };
        const body = JSON.stringify({ access_token: "of-the-node", expires_in: 3600, token_type: "Bearer" });
        return isUp ? { status: 200, headers, body } : { status, headers: { "metadata-flavor": "Google" }, body: "no" };
      });
      vi.stubEnv("GCE_METADATA_HOST", `127.0.0.1:${metadata.port}`);
      // The library itself tries four times, which takes two seconds.
      expect(await outcomeOf(place, { ...BRISK, attempts: 1 })).toBe(lasting);
      if (status !== 403) {
        setTimeout(() => {
          isUp = true;
        }, 200);
        expect(await outcomeOf(place, PATIENT)).toBe(ACCEPTED);
      }
      await metadata.stop();
    }
  });
});
