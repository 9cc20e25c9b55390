import { readFileSync } from "node:fs";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { vi } from "vitest";
import { startForwardProxy } from "./forward-proxy.ts";
import { leadTo } from "./names.ts";
import { newServerTLS } from "./server-tls.ts";

const STORAGE = "storage.googleapis.com";
const HOSTS = ["sts.googleapis.com", "oauth2.googleapis.com", "iamcredentials.googleapis.com", STORAGE];

/** A request to one of Google's hosts. */
export interface GoogleRequest {
  readonly host: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** Hosts of googleapis.com, simulated on loopback. */
export interface GoogleCloud {
  readonly requests: readonly GoogleRequest[];
  /** Value for HTTPS_PROXY. */
  readonly proxyURL: string;
  /** The CA of their certificate, as PEM. */
  readonly ca: string;
  /** Port of all hosts. */
  readonly port: number;
  /** Called for each request for a token; undefined: the token of the tests, or a refusal. */
  instead: (asked: GoogleRequest) => TokenAnswer | undefined;
  stop(): Promise<void>;
}

export interface GoogleOptions {
  /** The workload identity token that is exchanged for one of Google's. */
  readonly known: string;
  /** Port of a server that simulates the store. By default the store is empty. */
  readonly storagePort?: number;
  /** An address of loopback where the hosts listen at port 443. By default HTTPS_PROXY leads to another port. */
  readonly address?: string;
  /** Whether this process trusts the CA of the hosts, as it does by default. */
  readonly isTrusted?: boolean;
}

interface TokenAnswer {
  readonly status: number;
  readonly body: string;
}

/** The access token that it issues. */
export const GOOGLE_TOKEN = "token-of-the-tests";

export async function startGoogleCloud(options: GoogleOptions): Promise<GoogleCloud> {
  const { known, storagePort, address, isTrusted = true } = options;
  const requests: GoogleRequest[] = [];
  const tls = await newServerTLS(HOSTS);
  const server = createServer(
    { cert: readFileSync(tls.cert), key: readFileSync(tls.key) },
    async (incoming, response) => {
      const [host = "", path = ""] = [incoming.headers.host, incoming.url];
      const body = await textOf(incoming);
      const asked = { host, path, authorization: incoming.headers.authorization, body };
      requests.push(asked);
      const instead = host === STORAGE ? undefined : cloud.instead(asked);
      if (instead !== undefined) {
        const headers = { "content-type": instead.body.startsWith("{") ? "application/json" : "text/html" };
        return void response.writeHead(instead.status, headers).end(instead.body);
      }
      if (host !== STORAGE) return void answerToken(response, new URLSearchParams(body), known);
      if (storagePort === undefined) return void json(response, 404, { error: { message: "Not Found" } });
      forward(incoming, body, storagePort, response);
    },
  );
  await new Promise<void>((done) => server.listen(address === undefined ? 0 : 443, address ?? "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  const proxy = await startForwardProxy(Object.fromEntries(HOSTS.map((host) => [`${host}:443`, port])));
  const before = getCACertificates("default");
  if (isTrusted) setDefaultCACertificates([...before, tls.ca]);
  if (address === undefined) vi.stubEnv("HTTPS_PROXY", proxy.url);
  else leadTo(address, HOSTS);
  const cloud: GoogleCloud = {
    requests,
    proxyURL: proxy.url,
    ca: tls.ca,
    port,
    instead: () => undefined,
    async stop() {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
      setDefaultCACertificates(before);
      await proxy.stop();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return cloud;
}

function answerToken(response: ServerResponse, form: URLSearchParams, known: string): void {
  const subject = form.get("subject_token");
  if (subject !== null && subject !== known) {
    json(response, 400, { error: "invalid_grant", error_description: "The subject token is not accepted." });
    return;
  }
  json(response, 200, {
    access_token: GOOGLE_TOKEN,
    token_type: "Bearer",
    expires_in: 3600,
    issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
  });
}

function forward(incoming: IncomingMessage, body: string, port: number, response: ServerResponse): void {
  const { method, url: path, headers } = incoming;
  const sent = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(response);
  });
  sent.on("error", () => response.destroy());
  sent.end(Buffer.from(body, "latin1"));
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Each byte becomes one character: objects are not UTF-8. */
async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("latin1");
}

/** A credentials.json of a workload identity; the token of the pod's service account is in a file. */
export function workloadIdentity(tokenFile: string, fields: object = {}): string {
  return JSON.stringify({
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/tests/providers/tests",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: "https://sts.googleapis.com/v1/token",
    credential_source: { file: tokenFile },
    ...fields,
  });
}
