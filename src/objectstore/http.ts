import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal: AbortSignal;
}

/** Connections that are kept for the next request. `proxyEnv` makes Node heed HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export class HttpConnections {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;

  /** @param ca the only authorities whose certificates are believed, as PEM; those of the system when there are none */
  constructor(ca?: string) {
    const options = { keepAlive: true, proxyEnv: process.env };
    this.http = new HttpAgent(options);
    this.https = new HttpsAgent({ ...options, ...(ca === undefined ? {} : { ca }) });
  }

  /** One request; of the answer nothing is read yet. Redirections are answers like others. */
  send(url: URL, { method, headers, body, signal }: HttpRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const length = { "content-length": String(body === undefined ? 0 : Buffer.byteLength(body)) };
      const options = { method, headers: { ...headers, ...length }, signal };
      const request =
        url.protocol === "https:"
          ? requestHttps(url, { ...options, agent: this.https })
          : requestHttp(url, { ...options, agent: this.http });
      request.on("error", reject);
      request.on("response", (answer) => {
        answer.on("error", () => {}); // Whoever reads it is told; when nobody does, it is nobody's.
        resolve(answer);
      });
      request.end(body);
    });
  }

  close(): void {
    this.http.destroy();
    this.https.destroy();
  }
}
