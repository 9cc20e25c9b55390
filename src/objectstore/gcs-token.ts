import { readFile } from "node:fs/promises";
import {
  type AuthClient,
  Compute,
  gaxios,
  IdentityPoolClient,
  type IdentityPoolClientOptions,
  JWT,
  UserRefreshClient,
} from "google-auth-library";
import type { CredentialsDirectory } from "./credentials.ts";
import { StoreError, type StoreReason } from "./error.ts";
import { networkFailure } from "./failure.ts";
import { type GCSCredentials, gcsCredentialsOf } from "./gcs-credentials.ts";

// The library's own search for an identity is not used. It also looks for a project, which is not needed: for that it
// runs programs and waits many seconds for missing servers.

/** Scope for reading, writing and deleting objects, but not buckets. */
const SCOPES = ["https://www.googleapis.com/auth/devstorage.read_write"];

const FILE = "credentials.json in the Secret with the credentials";

export async function readGCSCredentials(directory: CredentialsDirectory): Promise<GCSCredentials> {
  return gcsCredentialsOf(await directory.need("credentials.json"), FILE);
}

/** Requests tokens from Google, and caches each until shortly before it expires. */
export class GCSTokens {
  readonly #credentials: GCSCredentials | undefined;
  #client: AuthClient | undefined;

  /** @param credentials undefined: the pod's own, such as a workload identity */
  constructor(credentials: GCSCredentials | undefined) {
    this.#credentials = credentials;
  }

  /** Authorization headers. @throws StoreError */
  async headers(url: URL): Promise<Record<string, string>> {
    try {
      this.#client ??= await clientOf(this.#credentials);
      return Object.fromEntries(new Headers(await this.#client.getRequestHeaders(url)));
    } catch (thrown) {
      throw tokenError(thrown);
    }
  }
}

async function clientOf(credentials: GCSCredentials | undefined): Promise<AuthClient> {
  if (credentials === undefined) return await clientOfPod();
  switch (credentials.type) {
    case "service_account":
      return new JWT({ email: credentials.client_email, key: credentials.private_key, scopes: SCOPES });
    case "authorized_user":
      return new UserRefreshClient(credentials.client_id, credentials.client_secret, credentials.refresh_token);
    case "external_account":
      // The library's type requires more fields than the library uses.
      return new IdentityPoolClient({ ...credentials, scopes: SCOPES } as unknown as IdentityPoolClientOptions);
  }
}

/** The pod's own credentials: a file named by the variable, or Google's metadata server. */
async function clientOfPod(): Promise<AuthClient> {
  const path = process.env.GOOGLE_APPLICATION_CREDENTIALS;
  if (path === undefined || path === "") return new Compute({ scopes: SCOPES });
  const text = await readFile(path, "utf8").catch((thrown) => {
    throw new StoreError(
      "WrongCredentials",
      `GOOGLE_APPLICATION_CREDENTIALS is ${path}, which cannot be read: ${thrown.code}`,
    );
  });
  return await clientOf(gcsCredentialsOf(text, path));
}

/**
 * Takes only names and sentences from the answer: the request contains a signature, and the answer may contain a token.
 */
function tokenError(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const failure = (reason: StoreReason, text: string) =>
    new StoreError(reason, `no token for Google Cloud Storage: ${text}`);
  const answer = thrown instanceof gaxios.GaxiosError ? thrown.response : undefined;
  if (answer !== undefined) {
    const { error, error_description } = (answer.data ?? {}) as Record<string, unknown>;
    const text = [error, error_description].filter((each) => typeof each === "string").join(": ");
    return failure(answer.status >= 500 ? "Unreachable" : "WrongCredentials", `HTTP ${answer.status}: ${text}`);
  }
  const network = networkFailure(thrown);
  if (network !== undefined) return failure(network.reason, network.text);
  // OpenSSL reports an invalid key with a code, without any part of the key.
  return failure("WrongCredentials", thrown instanceof Error ? thrown.message : "the library gives no reason");
}
