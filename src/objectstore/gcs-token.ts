import { readFile } from "node:fs/promises";
import type { Agent } from "node:http";
import {
  type AuthClient,
  Compute,
  type gaxios,
  IdentityPoolClient,
  type IdentityPoolClientOptions,
  JWT,
  UserRefreshClient,
} from "google-auth-library";
import type { CredentialsDirectory } from "./credentials.ts";
import { StoreError, type StoreReason } from "./error.ts";
import { AnswerError, networkFailure, reasonOfStatus } from "./failure.ts";
import { type GCSCredentials, gcsCredentialsOf } from "./gcs-credentials.ts";
import { HttpConnections } from "./http.ts";
import { checkIdentityPath } from "./identity.ts";

// The library's own search for an identity is not used. It also looks for a project, which is not needed: for that it
// runs programs and waits many seconds for missing servers.

/** Scope for reading, writing and deleting objects, but not buckets. */
const SCOPES = ["https://www.googleapis.com/auth/devstorage.read_write"];

const FILE = "credentials.json in the Secret with the credentials";

/** Undefined when the Secret has only `ca.crt`: then the pod's own identity is used. */
export async function readGCSCredentials(directory: CredentialsDirectory): Promise<GCSCredentials | undefined> {
  if (await directory.hasOnlyCA(["credentials.json"])) return undefined;
  return gcsCredentialsOf(await directory.need("credentials.json"), FILE);
}

/** Requests tokens from Google, and caches each until shortly before it expires. */
export class GCSTokens {
  readonly #credentials: GCSCredentials | undefined;
  readonly #ca: string | undefined;
  #client: AuthClient | undefined;

  /**
   * @param credentials undefined: the pod's own, such as a workload identity
   * @param ca the only trusted CAs, as PEM; by default those of the system
   */
  constructor(credentials: GCSCredentials | undefined, ca: string | undefined) {
    [this.#credentials, this.#ca] = [credentials, ca];
  }

  /** Authorization headers. @throws AnswerError */
  async headers(url: URL): Promise<Record<string, string>> {
    try {
      this.#client ??= await clientOf(this.#credentials, this.#ca);
      return Object.fromEntries(new Headers(await this.#client.getRequestHeaders(url)));
    } catch (thrown) {
      throw tokenError(thrown);
    }
  }
}

async function clientOf(credentials: GCSCredentials | undefined, ca: string | undefined): Promise<AuthClient> {
  if (credentials === undefined) return await clientOfPod(ca);
  const agent = ca === undefined ? {} : { agent: trusting(ca) };
  const options = { transporterOptions: { retryConfig: { retry: 0 }, ...agent } }; // Retries are ours (patience.ts).
  switch (credentials.type) {
    case "service_account": {
      const { client_email: email, private_key: key } = credentials;
      return new JWT({ email, key, scopes: SCOPES, ...options });
    }
    case "authorized_user": {
      const { client_id: clientId, client_secret: clientSecret, refresh_token: refreshToken } = credentials;
      return new UserRefreshClient({ clientId, clientSecret, refreshToken, ...options });
    }
    case "external_account": {
      checkIdentityPath(ca);
      // The library's type requires more fields than the library uses.
      const all = { ...credentials, scopes: SCOPES, ...options } as unknown as IdentityPoolClientOptions;
      return new PoolClient(all);
    }
  }
}

/** Sends requests to the Security Token Service with the same CA and retries. The library uses its defaults there. */
class PoolClient extends IdentityPoolClient {
  constructor(options: IdentityPoolClientOptions) {
    super(options);
    const service = this.stsCredential as unknown as { transporter: IdentityPoolClient["transporter"] };
    service.transporter = this.transporter;
  }
}

/** Connections with TLS, which all token services of Google require. */
function trusting(ca: string): Agent {
  return new HttpConnections(ca).https;
}

/** The pod's own credentials: a file named by the variable, or Google's metadata server. */
async function clientOfPod(ca: string | undefined): Promise<AuthClient> {
  checkIdentityPath(ca);
  const path = process.env.GOOGLE_APPLICATION_CREDENTIALS;
  if (path === undefined || path === "") return new Compute({ scopes: SCOPES });
  const text = await readFile(path, "utf8").catch((thrown) => {
    const message = `GOOGLE_APPLICATION_CREDENTIALS is ${path}, which cannot be read: ${thrown.code}`;
    throw new StoreError("WrongCredentials", message, { mayPass: thrown.code === "ENOENT" });
  });
  return await clientOf(gcsCredentialsOf(text, path), ca);
}

/**
 * Takes only names and sentences from the answer: the request contains a signature, and the answer may contain a token.
 */
function tokenError(thrown: unknown): AnswerError {
  const failure = (reason: StoreReason, text: string, mayPass = false) =>
    new AnswerError({ reason, text: `no token for Google Cloud Storage: ${text}`, mayPass });
  if (thrown instanceof StoreError) return failure(thrown.reason, thrown.message, thrown.mayPass);
  const answer = answerOf(thrown);
  if (answer !== undefined) {
    const { host, status } = answer;
    const text = `HTTP ${status}${answer.text === "" ? "" : `: ${answer.text}`}`;
    if (reasonOfStatus(status) === "Unreachable") return failure("Unreachable", text);
    // Google accepts the identity, but the identity has no permission to impersonate the service account.
    if (status === 403 && host.startsWith("iamcredentials")) return failure("AccessDenied", text);
    // A metadata server returns 404 before it is ready, and also on a node without a service account.
    return failure("WrongCredentials", text, status === 404 && !host.endsWith(".googleapis.com"));
  }
  const network = networkFailure(thrown);
  if (network !== undefined) return failure(network.reason, network.text);
  // OpenSSL reports an invalid key with a code, without any part of the key.
  const text = thrown instanceof Error ? thrown.message : "the library gives no reason";
  return failure("WrongCredentials", text, isMissingFile(thrown));
}

interface TokenAnswer {
  readonly host: string;
  readonly status: number;
  readonly text: string;
}

/** The library copies the answer of the Security Token Service to an error of its own. */
function answerOf(thrown: unknown): TokenAnswer | undefined {
  if (!(thrown instanceof Error) || !("response" in thrown)) return undefined;
  const { response } = thrown as gaxios.GaxiosError;
  if (response === undefined) return undefined;
  const { error, error_description } = (response.data ?? {}) as Record<string, unknown>;
  // Google's other services have an object with a message.
  const said = typeof error === "object" && error !== null && "message" in error ? error.message : error;
  const text = [said, error_description].filter((each) => typeof each === "string").join(": ");
  return { host: new URL(response.config.url).host, status: response.status, text };
}

function isMissingFile(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
}
