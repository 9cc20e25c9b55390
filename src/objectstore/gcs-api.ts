import type { IncomingMessage } from "node:http";
import type { StoreReason } from "./error.ts";
import { type Answer, reasonOfStatus } from "./failure.ts";
import { type GCSCredentials, GCSTokens } from "./gcs-token.ts";
import { HttpConnections } from "./http.ts";
import type { GCSLocation } from "./location.ts";

// Google's JSON API, of which six calls are enough. Google's own library for it ends no request that hangs, and takes no signal;
// its library for credentials, which knows the ways to a token, is used beside this.

const PUBLIC = "https://storage.googleapis.com";

export interface GCSRequest {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal: AbortSignal;
}

/** An answer that says no. */
export class GCSRefusal extends Error {
  override readonly name = "GCSRefusal";
  readonly status: number;
  readonly answer: Answer;

  constructor(status: number, answer: Answer) {
    super(answer.text);
    this.status = status;
    this.answer = answer;
  }
}

/** Makes single requests, with a token. */
export class GCSAPI {
  readonly #base: URL;
  readonly #isElsewhere: boolean;
  readonly #tokens: GCSTokens;
  readonly #connections = new HttpConnections();

  constructor(location: GCSLocation, credentials: GCSCredentials | undefined) {
    this.#base = new URL(location.endpoint ?? PUBLIC);
    this.#isElsewhere = location.endpoint !== undefined;
    this.#tokens = new GCSTokens(credentials);
  }

  /** @param path from the root of the API. Example: `storage/v1/b/backups/o` */
  url(path: string, query: Readonly<Record<string, string>> = {}): URL {
    const url = new URL(`${this.#base.pathname.replace(/\/$/, "")}/${path}`, this.#base);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }

  /** Where the store says that it goes on. One at another address than Google's may know itself only by the one behind it. */
  sessionURL(location: string): URL {
    const url = new URL(location, this.#base);
    if (this.#isElsewhere) [url.protocol, url.host] = [this.#base.protocol, this.#base.host];
    return url;
  }

  /** @returns the answer, of which nothing is read yet @throws GCSRefusal for a status of 400 and more, or what the network throws */
  async request(url: URL, { method = "GET", headers = {}, body, signal }: GCSRequest): Promise<IncomingMessage> {
    const token = await this.#tokens.headers(url);
    const request = { method, headers: { ...token, ...headers }, signal, ...(body === undefined ? {} : { body }) };
    const answer = await this.#connections.send(url, request);
    const status = answer.statusCode ?? 0;
    if (status < 400) return answer;
    throw new GCSRefusal(status, answerOf(status, await textOf(answer)));
  }

  close(): void {
    this.#connections.close();
  }
}

interface ErrorBody {
  readonly error?: { readonly message?: string; readonly errors?: readonly { readonly reason?: string }[] };
}

/** Google's reasons that say more than the status. Source: "HTTP status and error codes for JSON" in its reference. */
const REASONS: Readonly<Record<string, StoreReason>> = {
  rateLimitExceeded: "Unreachable",
  userRateLimitExceeded: "Unreachable",
  quotaExceeded: "NoSpace",
  insufficientStorage: "NoSpace",
  authError: "WrongCredentials",
  expired: "WrongCredentials",
};

function answerOf(status: number, text: string): Answer {
  let body: ErrorBody = {};
  try {
    body = JSON.parse(text) as ErrorBody;
  } catch {
    // A proxy's page, or a plain sentence, which is told as it is.
  }
  const { message = text, errors = [] } = body.error ?? {};
  const told = errors.map(({ reason = "" }) => REASONS[reason]).find((reason) => reason !== undefined);
  const absent = /bucket does not exist/i.test(message) ? "NoSuchBucket" : "NoSuchObject";
  const reason = told ?? (status === 404 ? absent : reasonOfStatus(status));
  return { reason, text: `HTTP ${status}: ${message}` };
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Reads an answer of JSON to its end. */
export async function jsonOf<T>(answer: IncomingMessage): Promise<T> {
  return JSON.parse(await textOf(answer)) as T;
}
