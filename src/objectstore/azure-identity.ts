import { readFile } from "node:fs/promises";
import { systemClock } from "#base/clock.ts";
import type { StoreReason } from "./error.ts";
import { AnswerError, networkFailure, reasonOfStatus, textOf } from "./failure.ts";
import { bodyText, HttpConnections } from "./http.ts";

// Workload identity: Azure's webhook mounts a token of the pod's service account and sets four variables; the token is
// exchanged for one of Azure. Azure's own library does far more, includes a browser login, and is larger than this
// whole package.

const ANSWER_MS = 30_000;
const PUBLIC_CLOUD = "https://login.microsoftonline.com/";

/** Implements TokenCredential of the store's library. */
export class AzureWorkloadIdentity {
  readonly #ca: string | undefined;

  /** @param ca the only trusted CAs, as PEM; by default those of the system */
  constructor(ca?: string) {
    this.#ca = ca;
  }

  /** The library caches the token until shortly before it expires. */
  async getToken(scopes: string | string[]): Promise<{ token: string; expiresOnTimestamp: number }> {
    const authority = authorityURL(variable("AZURE_TENANT_ID"));
    const file = variable("AZURE_FEDERATED_TOKEN_FILE");
    const form = new URLSearchParams({
      client_id: variable("AZURE_CLIENT_ID"),
      client_assertion: await readFile(file, "utf8").catch((thrown) =>
        failed("WrongCredentials", textOf(thrown), thrown.code === "ENOENT"),
      ),
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      grant_type: "client_credentials",
      scope: [scopes].flat().join(" "),
    });
    const answer = await ask(authority, form, this.#ca);
    return { token: answer.access_token, expiresOnTimestamp: systemClock.wallMs() + answer.expires_in * 1000 };
  }
}

/**
 * URL of the token endpoint of a tenant.
 * @param tenant from an annotation of the service account, so its author must not choose the host: a UUID or a domain
 */
function authorityURL(tenant: string): URL {
  if (!/^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/.test(tenant)) {
    return failed("WrongCredentials", `AZURE_TENANT_ID is ${JSON.stringify(tenant)}; it may be a UUID or a domain`);
  }
  const host = process.env.AZURE_AUTHORITY_HOST || PUBLIC_CLOUD;
  if (!URL.canParse(host) || new URL(host).protocol !== "https:") {
    return failed("WrongCredentials", `AZURE_AUTHORITY_HOST is ${JSON.stringify(host)}; it may be an https:// URL`);
  }
  return new URL(`/${tenant}/oauth2/v2.0/token`, host);
}

interface TokenAnswer {
  readonly access_token: string;
  /** Seconds. */
  readonly expires_in: number;
}

async function ask(url: URL, form: URLSearchParams, ca: string | undefined): Promise<TokenAnswer> {
  // Directly, without a proxy. Redirects are not followed: the service account's token must reach no other host.
  const connections = new HttpConnections(ca, false);
  try {
    const answer = await connections.send(url, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: form.toString(),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return tokenIn(url, answer.statusCode ?? 0, await bodyText(answer));
  } catch (thrown) {
    if (thrown instanceof AnswerError) throw thrown;
    const { reason, text } = networkFailure(thrown) ?? { reason: "Unreachable" as const, text: textOf(thrown) };
    return failed(reason, `${url.host}: ${text}`);
  } finally {
    connections.close();
  }
}

function tokenIn(url: URL, status: number, text: string): TokenAnswer {
  let answer: Partial<TokenAnswer> & { readonly error?: string; readonly error_description?: string } = {};
  try {
    answer = JSON.parse(text);
  } catch {
    // The page of a proxy or of a load balancer.
  }
  const { access_token, expires_in, error, error_description } = answer;
  if (status === 200 && typeof access_token === "string" && typeof expires_in === "number") {
    return { access_token, expires_in };
  }
  const passes = reasonOfStatus(status) === "Unreachable" || error === "temporarily_unavailable";
  // The description begins with a code explained in Azure's documentation, such as AADSTS700016.
  const said = error === undefined ? "" : ` ${error}: ${error_description}`;
  return failed(passes ? "Unreachable" : "WrongCredentials", `${url.host} answered HTTP ${status}${said}`);
}

function variable(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  return failed(
    "WrongCredentials",
    `${name} is not set; name a Secret with credentials, or a service account with a workload identity`,
  );
}

function failed(reason: StoreReason, text: string, mayPass = false): never {
  throw new AnswerError({ reason, text: `the pod's workload identity: ${text}`, mayPass });
}
