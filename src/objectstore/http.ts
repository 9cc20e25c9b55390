import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal: AbortSignal;
}

/** Connections that are reused. `proxyEnv` makes Node respect HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export class HttpConnections {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;

  /** @param ca the only trusted CAs, as PEM; by default those of the system */
  constructor(ca?: string) {
    const options = { keepAlive: true, proxyEnv: process.env };
    this.http = new HttpAgent(options);
    this.https = new HttpsAgent({ ...options, ...(ca === undefined ? {} : { ca }) });
  }

  /** Sends one request; the answer's body is unread. Redirects are not followed. */
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
        answer.on("error", () => {}); // A reader of the answer gets the error; without a reader it is ignored.
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
