import { StoreError, type StoreReason } from "./error.ts";

// Failures of connections and answers, as a reason and a text that may be shown. Errors of libraries contain requests,
// answers and signed URLs: only a redacted text is kept, and the error is dropped.

/** A failure as a store's library reports it. */
export interface Answer {
  readonly reason: StoreReason;
  readonly text: string;
  /** See StoreError. */
  readonly mayPass?: boolean;
}

/** An Answer as an Error. Its text may contain tokens: only the message of the translated StoreError may be shown. */
export class AnswerError extends Error {
  override readonly name: string = "AnswerError";
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(answer.text);
    this.answer = answer;
  }
}

/** Node's codes for a server that refuses or drops connections. */
const UNREACHABLE = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_SOCKET",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

const TIMEOUT = new Set(["ETIMEDOUT", "ESOCKETTIMEDOUT", "UND_ERR_CONNECT_TIMEOUT"]);

/** OpenSSL's certificate errors (Node: `X509 certificate error codes`), and errors when the peer does not use TLS. */
const TLS =
  /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_CERT_|HOSTNAME_MISMATCH$|INVALID_(?:CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$)/;

/** @returns undefined when it is no network failure */
export function networkFailure(thrown: unknown): Answer | undefined {
  for (const error of chainOf(thrown)) {
    const code = "code" in error && typeof error.code === "string" ? error.code : "";
    const text = error.message.includes(code) ? error.message : `${error.message} (${code})`;
    if (TLS.test(code)) return { reason: "TLS", text };
    if (TIMEOUT.has(code)) return { reason: "Timeout", text };
    if (UNREACHABLE.has(code)) return { reason: "Unreachable", text: text === "" ? code : text };
    if (error.name === "TimeoutError") return { reason: "Timeout", text };
    // Not our own signal, which is checked before: libraries report broken connections like this.
    if (error.name === "AbortError") return { reason: "Unreachable", text: "the connection broke" };
  }
  return undefined;
}

/** The error, its causes, and the errors of several connection attempts. */
function chainOf(thrown: unknown): Error[] {
  const chain: Error[] = [];
  const look = (each: unknown): void => {
    if (!(each instanceof Error) || chain.length > 10) return;
    chain.push(each);
    look(each.cause);
    if (each instanceof AggregateError) each.errors.forEach(look);
  };
  look(thrown);
  return chain;
}

/**
 * Reason for an HTTP status, when the store's own code is unknown. 404 has none by itself: an absent object is an
 * answer.
 */
export function reasonOfStatus(status: number | undefined): StoreReason {
  if (status === 401) return "WrongCredentials";
  if (status === 403) return "AccessDenied";
  if (status === 412) return "ObjectExists";
  // The server at this location does not support the request.
  if (status === 501) return "InvalidLocation";
  if (status === 507) return "NoSpace";
  if (status === 408 || status === 429 || (status !== undefined && status >= 500)) return "Unreachable";
  return "Other";
}

/** Limit in characters for a text shown to users: stores answer with whole pages. */
const LONGEST_TEXT = 500;
/**
 * Characters of an answer that are searched for secrets. The time grows with the square of them: 0.1 s at this limit.
 */
const MOST_SEARCHED = 16 * 1024;

/**
 * Translates errors of a store's library, and of an identity, into StoreErrors.
 * @param secrets values to redact from messages
 * @param answerOf meaning of the library's own errors; undefined for unknown ones. It is not called for an AnswerError
 */
export function translator(
  secrets: readonly string[],
  answerOf: (thrown: unknown) => Answer | undefined = () => undefined,
): (thrown: unknown, what: string) => StoreError {
  return (thrown, what) => {
    if (thrown instanceof StoreError) return thrown;
    const answer = thrown instanceof AnswerError ? thrown.answer : answerOf(thrown);
    const other: Answer = { reason: "Other", text: textOf(thrown) };
    const { reason, text, mayPass = false } = answer ?? networkFailure(thrown) ?? other;
    return new StoreError(reason, `${what}: ${redacted(text, secrets).slice(0, LONGEST_TEXT)}`, { mayPass });
  };
}

export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}

/** A signed token (JWT), which a service may repeat in its refusal. */
const TOKEN = /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g;

function redacted(text: string, secrets: readonly string[]): string {
  const oneLine = text.slice(0, MOST_SEARCHED).replaceAll(/\s+/g, " ").trim().replaceAll(TOKEN, "***");
  return secrets.reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, "***")), oneLine);
}
