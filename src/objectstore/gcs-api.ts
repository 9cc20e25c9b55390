import type { IncomingMessage } from "node:http";
import type { StoreReason } from "./error.ts";
import { type Answer, AnswerError, reasonOfStatus } from "./failure.ts";
import type { GCSCredentials } from "./gcs-credentials.ts";
import { GCSTokens } from "./gcs-token.ts";
import { bodyText, HttpConnections } from "./http.ts";
import type { GCSLocation } from "./location.ts";

// Google's JSON API, of which six calls are needed. Google's own library neither times out nor accepts a signal; only
// its library for credentials is used.

const PUBLIC = "https://storage.googleapis.com";

const NO_TOKEN = "endpoint is not https://*.googleapis.com, and tokens of Google are sent to no other server";

/**
 * Whether a server may get a token. Any other server could use it for an hour to read, write and delete whatever the
 * account may.
 */
function takesToken({ protocol, hostname }: URL): boolean {
  return protocol === "https:" && hostname.endsWith(".googleapis.com");
}

export interface GCSRequest {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal: AbortSignal;
}

/** An answer with an error status. */
export class GCSRefusal extends AnswerError {
  override readonly name = "GCSRefusal";
  readonly status: number;

  constructor(status: number, answer: Answer) {
    super(answer);
    this.status = status;
  }
}

/** Sends single requests, with a token when they go to Google. */
export class GCSAPI {
  readonly #base: URL;
  readonly #isElsewhere: boolean;
  readonly #tokens: GCSTokens;
  readonly #connections: HttpConnections;

  /** @param ca the only trusted CAs, as PEM, also for the token service; by default those of the system */
  constructor(location: GCSLocation, credentials: GCSCredentials | undefined, ca: string | undefined) {
    this.#connections = new HttpConnections(ca);
    this.#base = new URL(location.endpoint ?? PUBLIC);
    this.#isElsewhere = location.endpoint !== undefined;
    this.#tokens = new GCSTokens(credentials, ca);
  }

  /** @param path relative to the root of the API. Example: `storage/v1/b/backups/o` */
  url(path: string, query: Readonly<Record<string, string>> = {}): URL {
    const url = new URL(`${this.#base.pathname.replace(/\/$/, "")}/${path}`, this.#base);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }

  /**
   * URL at which an upload continues. A server behind a proxy may name an address of its own, so the endpoint's host is
   * used.
   */
  sessionURL(location: string): URL {
    const url = new URL(location, this.#base);
    if (this.#isElsewhere) [url.protocol, url.host] = [this.#base.protocol, this.#base.host];
    return url;
  }

  /** @returns the answer with an unread body @throws GCSRefusal for a status of 400 or above, or a network error */
  async request(url: URL, { method = "GET", headers = {}, body, signal }: GCSRequest): Promise<IncomingMessage> {
    const token = takesToken(url) ? await this.#tokens.headers(url) : {};
    const request = { method, headers: { ...token, ...headers }, signal, ...(body === undefined ? {} : { body }) };
    const answer = await this.#connections.send(url, request);
    const status = answer.statusCode ?? 0;
    if (status < 400) return answer;
    const { reason, text } = answerOf(status, await bodyText(answer));
    const isForToken = !takesToken(url) && (status === 401 || status === 403);
    throw new GCSRefusal(status, { reason, text: isForToken ? `${text} (${NO_TOKEN})` : text });
  }

  close(): void {
    this.#connections.close();
  }
}

interface ErrorBody {
  readonly error?: { readonly message?: string; readonly errors?: readonly { readonly reason?: string }[] };
}

/**
 * Google's reasons that are more specific than the status. Source: "HTTP status and error codes for JSON" in its
 * reference.
 */
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
    // A proxy's page or plain text is used as it is.
  }
  const { message = text, errors = [] } = body.error ?? {};
  const listed = errors.map(({ reason = "" }) => REASONS[reason]).find((reason) => reason !== undefined);
  const absent = /bucket does not exist/i.test(message) ? "NoSuchBucket" : "NoSuchObject";
  // The page of a proxy is no answer about the object.
  const isPage = text.trimStart().startsWith("<");
  const reason = listed ?? (status === 404 && !isPage ? absent : reasonOfStatus(status));
  return { reason, text: `HTTP ${status}: ${message}` };
}

/** Reads and parses a JSON answer. */
export async function jsonOf<T>(answer: IncomingMessage): Promise<T> {
  return JSON.parse(await bodyText(answer)) as T;
}
