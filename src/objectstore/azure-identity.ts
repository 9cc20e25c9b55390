import { readFile } from "node:fs/promises";
import { systemClock } from "#base/clock.ts";
import { StoreError, type StoreReason } from "./error.ts";
import { networkFailure, textOf } from "./failure.ts";

// Workload identity: Azure's webhook mounts a token of the pod's service account and sets four variables; the token is
// exchanged for one of Azure. Azure's own library does far more, includes a browser login, and is larger than this
// whole package.

const ANSWER_MS = 30_000;
const PUBLIC_CLOUD = "https://login.microsoftonline.com/";

/** Implements TokenCredential of the store's library. */
export class AzureWorkloadIdentity {
  /** The library caches the token until shortly before it expires. */
  async getToken(scopes: string | string[]): Promise<{ token: string; expiresOnTimestamp: number }> {
    const authority = authorityURL(variable("AZURE_TENANT_ID"));
    const file = variable("AZURE_FEDERATED_TOKEN_FILE");
    const form = new URLSearchParams({
      client_id: variable("AZURE_CLIENT_ID"),
      client_assertion: await readFile(file, "utf8").catch((thrown) => failed("WrongCredentials", textOf(thrown))),
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      grant_type: "client_credentials",
      scope: [scopes].flat().join(" "),
    });
    const answer = await ask(authority, form);
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

async function ask(url: URL, form: URLSearchParams): Promise<TokenAnswer> {
  try {
    const response = await fetch(url, {
      method: "POST",
      body: form,
      redirect: "error", // The service account's token must reach no other host.
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const answer = (await response.json()) as TokenAnswer & { error?: string; error_description?: string };
    if (response.ok && typeof answer.access_token === "string") return answer;
    const reason = response.status >= 500 ? "Unreachable" : "WrongCredentials";
    // The description begins with a code explained in Azure's documentation, such as AADSTS700016.
    return failed(
      reason,
      `${url.host} answered ${answer.error} (HTTP ${response.status}): ${answer.error_description}`,
    );
  } catch (thrown) {
    if (thrown instanceof StoreError) throw thrown;
    const { reason, text } = networkFailure(thrown) ?? { reason: "Unreachable" as const, text: textOf(thrown) };
    return failed(reason, `${url.host}: ${text}`);
  }
}

function variable(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  return failed(
    "WrongCredentials",
    `${name} is not set; name a Secret with credentials, or a service account with a workload identity`,
  );
}

function failed(reason: StoreReason, text: string): never {
  throw new StoreError(reason, `the pod's workload identity: ${text}`);
}
