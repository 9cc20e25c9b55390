import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { AnswerError } from "./failure.ts";

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal: AbortSignal;
}

/** Connections that are reused. */
export class HttpConnections {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;

  /**
   * @param ca the only trusted CAs, as PEM; by default those of the system
   * @param usesProxy whether HTTPS_PROXY, HTTP_PROXY and NO_PROXY count
   */
  constructor(ca?: string, usesProxy = true) {
    const options = { keepAlive: true, ...(usesProxy ? { proxyEnv: process.env } : {}) };
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

/**
 * Longest answer other than an object, in bytes: a page of 1,000 objects has 2 MB. If larger, a server can take that
 * much memory.
 */
const MAX_ANSWER_BYTES = 16 * 1024 ** 2;

/** Reads an answer that is no object. @throws AnswerError, or a network error */
export async function bodyText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new AnswerError({ reason: "Other", text: `the server answers more than ${MAX_ANSWER_BYTES} bytes` });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
