import { readFile } from "node:fs/promises";
import { systemClock } from "#base/clock.ts";
import { StoreError, type StoreReason } from "./error.ts";
import { networkFailure, textOf } from "./failure.ts";

// Workload identity: Azure's webhook puts a token of the pod's service account into a file, and four variables beside it; the
// token is exchanged for one of Azure's. Azure's own library for it does a dozen other things as well, brings a browser's login
// along, and is larger than all of this room.

const ANSWER_MS = 30_000;
const PUBLIC_CLOUD = "https://login.microsoftonline.com/";

/** What the store's library calls a TokenCredential. */
export class AzureWorkloadIdentity {
  /** The library keeps the token until it is about to expire. */
  async getToken(scopes: string | string[]): Promise<{ token: string; expiresOnTimestamp: number }> {
    const tenant = variable("AZURE_TENANT_ID");
    const file = variable("AZURE_FEDERATED_TOKEN_FILE");
    const form = new URLSearchParams({
      client_id: variable("AZURE_CLIENT_ID"),
      client_assertion: await readFile(file, "utf8").catch((thrown) => failed("WrongCredentials", textOf(thrown))),
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      grant_type: "client_credentials",
      scope: [scopes].flat().join(" "),
    });
    const url = new URL(`${tenant}/oauth2/v2.0/token`, process.env.AZURE_AUTHORITY_HOST ?? PUBLIC_CLOUD);
    const answer = await ask(url, form);
    return { token: answer.access_token, expiresOnTimestamp: systemClock.wallMs() + answer.expires_in * 1000 };
  }
}

interface TokenAnswer {
  readonly access_token: string;
  /** In seconds. */
  readonly expires_in: number;
}

async function ask(url: URL, form: URLSearchParams): Promise<TokenAnswer> {
  try {
    const response = await fetch(url, { method: "POST", body: form, signal: AbortSignal.timeout(ANSWER_MS) });
    const answer = (await response.json()) as TokenAnswer & { error?: string; error_description?: string };
    if (response.ok && typeof answer.access_token === "string") return answer;
    const reason = response.status >= 500 ? "Unreachable" : "WrongCredentials";
    // The description begins with a code that Azure's documents explain: AADSTS700016.
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
    `there is no ${name}; name a Secret with credentials, or a service account with a workload identity`,
  );
}

function failed(reason: StoreReason, text: string): never {
  throw new StoreError(reason, `the pod's workload identity: ${text}`);
}
