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

// Why is the library's own search for an identity not used? It goes on to look for a project, which nobody needs: it runs programs,
// and asks servers that are not there, for many seconds.

/** What a mounted Secret holds for Google: the key of a service account, or how to come to a token in another way. */
export type GCSCredentials = Readonly<Record<string, unknown>>;

/** Objects are read, written and deleted; buckets are not. */
const SCOPES = ["https://www.googleapis.com/auth/devstorage.read_write"];

const FILE = "credentials.json in the Secret with the credentials";

export async function readGCSCredentials(directory: CredentialsDirectory): Promise<GCSCredentials> {
  return parsed(await directory.need("credentials.json"), FILE);
}

function parsed(text: string, file: string): GCSCredentials {
  try {
    const credentials: unknown = JSON.parse(text);
    if (typeof credentials === "object" && credentials !== null) return credentials as GCSCredentials;
  } catch {
    // What JSON.parse says repeats a part of the text.
  }
  throw new StoreError("WrongCredentials", `${file} is no JSON object; it may be the key file of a service account`);
}

/** What never stands in a message: also a single line of a private key. */
export function gcsSecrets(credentials: GCSCredentials | undefined): string[] {
  const names = ["private_key", "private_key_id", "client_secret", "refresh_token"];
  const values = names.map((name) => credentials?.[name]).filter((value) => typeof value === "string");
  return values.flatMap((value) => [value, ...value.split("\n").filter((line) => line.length > 20)]);
}

/** Asks Google for tokens, and keeps each until it is about to expire. */
export class GCSTokens {
  readonly #credentials: GCSCredentials | undefined;
  #client: AuthClient | undefined;

  /** @param credentials undefined: what the pod was given, such as a workload identity */
  constructor(credentials: GCSCredentials | undefined) {
    this.#credentials = credentials;
  }

  /** The headers that say who asks. @throws StoreError */
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
  const text = (name: string): string => {
    const value = credentials[name];
    if (typeof value === "string" && value !== "") return value;
    throw new StoreError("WrongCredentials", `${FILE} has no ${name}`);
  };
  // One by one: the library would also take kinds that run programs.
  switch (credentials.type) {
    case "service_account":
      return new JWT({ email: text("client_email"), key: text("private_key"), scopes: SCOPES });
    case "authorized_user":
      return new UserRefreshClient(text("client_id"), text("client_secret"), text("refresh_token"));
    case "external_account":
      // It says itself what it misses.
      return new IdentityPoolClient({ ...credentials, scopes: SCOPES } as unknown as IdentityPoolClientOptions);
  }
  const kind = JSON.stringify(credentials.type);
  const kinds = '"service_account", "external_account" or "authorized_user"';
  throw new StoreError("WrongCredentials", `type in ${FILE} is ${kind}; it may be ${kinds}`);
}

/** What the pod was given: a file of that name, or a server of Google's beside it that knows the pod's service account. */
async function clientOfPod(): Promise<AuthClient> {
  const path = process.env.GOOGLE_APPLICATION_CREDENTIALS;
  if (path === undefined || path === "") return new Compute({ scopes: SCOPES });
  const text = await readFile(path, "utf8").catch((thrown) => {
    throw new StoreError(
      "WrongCredentials",
      `GOOGLE_APPLICATION_CREDENTIALS is ${path}, which cannot be read: ${thrown.code}`,
    );
  });
  return await clientOf(parsed(text, path));
}

/** Only names and sentences are taken from the answer: the request has the key's signature, and the answer may have a token. */
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
  // A key that is none is told by OpenSSL, with a code and no piece of it.
  return failure("WrongCredentials", thrown instanceof Error ? thrown.message : "for no reason that the library gives");
}
