import { normalize } from "node:path/posix";
import { StoreError } from "./error.ts";

// Which fields of credentials.json are used?
//   Only those read here. The file may come from a Secret, and its author need not have access to the agent's pod. With
//   Google's library, such a file could read any file of the pod, call any URL and send the content anywhere.
// What may leave the pod?
//   The file's own key, to Google's fixed addresses, and a token mounted below TOKEN_FOLDERS, to Google's Security
//   Token Service.

/** Credentials for Google's library. */
export type GCSCredentials = ServiceAccount | AuthorizedUser | ExternalAccount;

interface ServiceAccount {
  readonly type: "service_account";
  readonly client_email: string;
  readonly private_key: string;
}

interface AuthorizedUser {
  readonly type: "authorized_user";
  readonly client_id: string;
  readonly client_secret: string;
  readonly refresh_token: string;
}

/** Workload identity federation: a token of the pod is exchanged for one of Google. */
interface ExternalAccount {
  readonly type: "external_account";
  readonly audience: string;
  readonly subject_token_type: string;
  readonly token_url: string;
  readonly credential_source: {
    readonly file: string;
    readonly format?: { readonly type: "json"; readonly subject_token_field_name: string };
  };
  readonly service_account_impersonation_url?: string;
}

/**
 * Folders below which Kubernetes, cloud webhooks and Google's own examples mount tokens. Nothing of the agent itself is
 * mounted there. Source: https://cloud.google.com/iam/docs/workload-identity-federation-with-kubernetes
 */
const TOKEN_FOLDERS = ["/var/run/secrets/", "/run/secrets/", "/var/run/service-account/"];

/**
 * URL of Google's Security Token Service, also regional or by Private Service Connect. No other host of googleapis.com
 * is accepted, since uploads to buckets use such hosts, too. Source:
 * https://cloud.google.com/iam/docs/reference/sts/rest
 */
const STS = /^https:\/\/sts(?:\.[a-z0-9-]+\.rep|-[a-z0-9-]+\.p)?\.googleapis\.com\/v1(?:beta)?\/token$/;

/** Source: https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken */
const IMPERSONATION =
  /^https:\/\/iamcredentials(?:\.[a-z0-9-]+\.rep|-[a-z0-9-]+\.p)?\.googleapis\.com\/v1\/projects\/-\/serviceAccounts\/[A-Za-z0-9@._-]{1,200}:generateAccessToken$/;

/** Maximum characters of a refused value in a message. */
const LONGEST_VALUE = 120;

/**
 * Parses credentials.json.
 * @param file name of the file in messages
 * @throws StoreError `WrongCredentials`: the field, its value and what it may be
 */
export function gcsCredentialsOf(text: string, file: string): GCSCredentials {
  const fields = new Fields(objectIn(text, file), "", file);
  const type = fields.values.type;
  switch (type) {
    case "service_account":
      // `token_uri` is ignored: the signed request is sent to Google's own address.
      return { type, client_email: fields.text("client_email"), private_key: fields.text("private_key") };
    case "authorized_user":
      return {
        type,
        client_id: fields.text("client_id"),
        client_secret: fields.text("client_secret"),
        refresh_token: fields.text("refresh_token"),
      };
    case "external_account":
      return externalAccount(type, fields);
  }
  throw fields.wrong("type", '"service_account", "external_account" or "authorized_user"');
}

function externalAccount(type: "external_account", fields: Fields): ExternalAccount {
  const impersonation = "service_account_impersonation_url";
  return {
    type,
    audience: fields.text("audience"),
    subject_token_type: fields.text("subject_token_type"),
    token_url: fields.matching("token_url", STS, "https://sts.googleapis.com/v1/token"),
    credential_source: tokenFile(fields.within("credential_source")),
    ...(fields.values[impersonation] === undefined
      ? {}
      : {
          [impersonation]: fields.matching(
            impersonation,
            IMPERSONATION,
            "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/EMAIL:generateAccessToken",
          ),
        }),
  };
}

function tokenFile(source: Fields): ExternalAccount["credential_source"] {
  const other = Object.keys(source.values).find((name) => !["file", "format"].includes(name) && !source.isEmpty(name));
  if (other !== undefined) {
    throw source.refusal(`has ${other}; it may have only file, with the path of a mounted token, and format`);
  }
  const file = source.text("file");
  if (!TOKEN_FOLDERS.some((folder) => file.startsWith(folder)) || normalize(file) !== file || file.endsWith("/")) {
    throw source.wrong("file", `a file below ${TOKEN_FOLDERS.join(" or ")}, where tokens of the pod are mounted`);
  }
  if (source.values.format === undefined) return { file };
  const format = source.within("format");
  if (format.values.type === "text") return { file };
  if (format.values.type !== "json") throw format.wrong("type", '"text" or "json"');
  return { file, format: { type: "json", subject_token_field_name: format.text("subject_token_field_name") } };
}

type Values = Readonly<Record<string, unknown>>;

function objectIn(text: string, file: string): Values {
  try {
    const value: unknown = JSON.parse(text);
    if (isMap(value)) return value;
  } catch {
    // The message of JSON.parse contains a part of the text.
  }
  throw new StoreError("WrongCredentials", `${file} is not a JSON object; it may be the key file of a service account`);
}

function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One object of the file, with its path for messages. */
class Fields {
  readonly values: Values;
  readonly #path: string;
  readonly #file: string;

  constructor(values: Values, path: string, file: string) {
    [this.values, this.#path, this.#file] = [values, path, file];
  }

  /** Whether it is an object without fields, such as `headers: {}`. */
  isEmpty(name: string): boolean {
    const value = this.values[name];
    return isMap(value) && Object.keys(value).length === 0;
  }

  within(name: string): Fields {
    const value = this.values[name];
    if (isMap(value)) return new Fields(value, `${this.#path}${name}.`, this.#file);
    throw this.wrong(name, "an object");
  }

  /** A text that may be secret: messages do not contain it. */
  text(name: string): string {
    const value = this.values[name];
    if (typeof value === "string" && value !== "") return value;
    throw new StoreError("WrongCredentials", `${this.#file} has no ${this.#path}${name}; it may be a text`);
  }

  matching(name: string, pattern: RegExp, mayBe: string): string {
    const value = this.text(name);
    if (pattern.test(value)) return value;
    throw this.wrong(name, mayBe);
  }

  /** @param name field that is no secret */
  wrong(name: string, mayBe: string): StoreError {
    const value = this.values[name];
    const shown = typeof value === "object" && value !== null ? "a list or an object" : JSON.stringify(value);
    const text = `${shown}`.slice(0, LONGEST_VALUE);
    return new StoreError("WrongCredentials", `${this.#path}${name} in ${this.#file} is ${text}; it may be ${mayBe}`);
  }

  refusal(text: string): StoreError {
    return new StoreError("WrongCredentials", `${this.#path.slice(0, -1)} in ${this.#file} ${text}`);
  }
}

/** Secrets to redact from messages, including single lines of a private key. */
export function gcsSecrets(credentials: GCSCredentials | undefined): string[] {
  const values = credentials === undefined ? [] : secretsOf(credentials);
  return values.flatMap((value) => [value, ...value.split("\n").filter((line) => line.length > 20)]);
}

function secretsOf(credentials: GCSCredentials): readonly string[] {
  switch (credentials.type) {
    case "service_account":
      return [credentials.private_key];
    case "authorized_user":
      return [credentials.client_secret, credentials.refresh_token];
    case "external_account":
      return [];
  }
}
