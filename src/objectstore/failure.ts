import { StoreError, type StoreReason } from "./error.ts";

// What failed on the way to a store, or was answered by it, as a reason and a text that may be shown. Libraries put requests,
// answers and addresses with signatures into their errors: of these only a text is taken, without what is secret, and the
// error itself is dropped.

/** What a store's library threw, as far as that library knows. */
export interface Answer {
  readonly reason: StoreReason;
  readonly text: string;
}

/** Of Node's own codes: what is there and does not take our connection, or drops it. */
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

/** Names of what OpenSSL finds wrong with a certificate (Node: `X509 certificate error codes`), and of what is not TLS at all. */
const TLS =
  /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_CERT_|HOSTNAME_MISMATCH$|INVALID_(?:CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$)/;

/** @returns undefined when nothing in it is of the network */
export function networkFailure(thrown: unknown): Answer | undefined {
  for (const error of chainOf(thrown)) {
    const code = "code" in error && typeof error.code === "string" ? error.code : "";
    const text = error.message.includes(code) ? error.message : `${error.message} (${code})`;
    if (TLS.test(code)) return { reason: "TLS", text };
    if (TIMEOUT.has(code)) return { reason: "Timeout", text };
    if (UNREACHABLE.has(code)) return { reason: "Unreachable", text: text === "" ? code : text };
    if (error.name === "TimeoutError") return { reason: "Timeout", text };
    // Not by our own signal, which is looked at before: a library's word for a connection that broke.
    if (error.name === "AbortError") return { reason: "Unreachable", text: "the connection broke" };
  }
  return undefined;
}

/** The error, its causes, and what several attempts to connect failed with. */
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

/** What an HTTP status says where the store's own code says nothing. 404 says nothing by itself: that an object is absent is an answer. */
export function reasonOfStatus(status: number | undefined): StoreReason {
  if (status === 401) return "WrongCredentials";
  if (status === 403) return "AccessDenied";
  if (status === 412) return "ObjectExists";
  if (status === 507) return "NoSpace";
  if (status === 408 || status === 429 || (status !== undefined && status >= 500)) return "Unreachable";
  return "Other";
}

/** Of a text for people: stores answer with whole pages. */
const LONGEST_TEXT = 500;

/**
 * Makes StoreErrors of what one store's library throws.
 * @param secrets what never stands in a message
 * @param answerOf what that library's own errors mean; undefined for what it does not know
 */
export function translator(
  secrets: readonly string[],
  answerOf: (thrown: unknown) => Answer | undefined,
): (thrown: unknown, what: string) => StoreError {
  return (thrown, what) => {
    if (thrown instanceof StoreError) return thrown;
    const { reason, text } = answerOf(thrown) ??
      networkFailure(thrown) ?? { reason: "Other" as const, text: textOf(thrown) };
    return new StoreError(reason, `${what}: ${redacted(text, secrets).slice(0, LONGEST_TEXT)}`);
  };
}

export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}

function redacted(text: string, secrets: readonly string[]): string {
  const oneLine = text.replaceAll(/\s+/g, " ").trim();
  return secrets.reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, "***")), oneLine);
}
