import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { answerWithin, type ConnectionLimits } from "#base/connection-limit.ts";
import { asOperatorError } from "#base/error.ts";
import { listen } from "#base/listen.ts";
import type { Log } from "#base/log.ts";
import { BodyBudget, type BodyLimits, type HeldBody, parsed, RefusedBody, readBody } from "./body.ts";

// What reaches the port?
//   The API server, and any other client: a webhook cannot tell them apart. So a request gets only an answer to its own
//   question, and its memory and time are limited here.
// What if an answer fails?
//   The HTTP status and text report it to the API server, which applies the webhook's `failurePolicy`.

/** One webhook: a path and its handler. */
export type Webhook = WebhookHere | WebhookElsewhere;

interface AnyWebhook {
  /** Such as `/admission/etcdclusters`. */
  readonly path: string;
  /** Limits of the body. */
  readonly limits: BodyLimits;
}

/** A webhook with requests that this thread parses and answers. */
export interface WebhookHere extends AnyWebhook {
  /**
   * Answers a parsed JSON body.
   * @param signal aborts when the time for the answer is over
   * @throws OperatorError InvalidSpec when the body is not a request of this webhook; any other error is a failure of
   * the operator
   */
  readonly answer: (body: unknown, signal: AbortSignal) => Promise<object>;
  /**
   * Answers a body beyond the limits, which is not parsed. @param head its first bytes @param why a whole sentence
   * @returns undefined when it does not begin like a request of an API server
   */
  readonly refuse?: (head: string, why: string) => object | undefined;
}

/** A webhook with requests that another thread parses and answers. */
export interface WebhookElsewhere extends AnyWebhook {
  /**
   * @param from address of the client
   * @param signal aborts at the deadline of the answer
   * @returns the answer as JSON
   * @throws RefusedBody, or as `answer` of WebhookHere
   */
  readonly answerBytes: (body: Uint8Array<ArrayBuffer>, from: string, signal: AbortSignal) => Promise<Uint8Array>;
}

/** The server's TLS certificate and key, in PEM. */
export interface ServingCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface WebhookServer {
  /** The port on which it listens. */
  readonly port: number;
  /** Uses this certificate for new connections; existing ones stay open. */
  use(serving: ServingCertificate): void;
  /**
   * Answers pending requests, closes each kept connection with its next answer, and ends. Takes up to {@link LINGER_MS}
   * with kept connections, and at most {@link ANSWER_WITHIN_MS} more for pending answers and handshakes.
   */
  close(): Promise<void>;
}

/**
 * Deadline of an answer in milliseconds. Shorter than the `timeoutSeconds` of the webhooks, so that the API server
 * receives the reason.
 */
const ANSWER_WITHIN_MS = 4_500;
/**
 * Deadline in milliseconds for a handshake, and for a request from its first byte to its last. Until then the received
 * part of a body stays in memory.
 */
const ARRIVE_WITHIN_MS = 5_000;
/** Interval in milliseconds for checking these deadlines; Node's default is 30 s. */
const CHECK_MS = 1_000;
/**
 * Keep-alive time in milliseconds. Longer than the API server keeps an idle connection (90 s), so that it never sends a
 * request on a connection that is being closed.
 */
const KEEP_ALIVE_MS = 120_000;
/**
 * Time in milliseconds for which a closing server still answers on kept connections, closing each with its answer.
 * Closing a connection with a request on its way would lose the request, and an edit would stay unchecked
 * (`failurePolicy: Ignore`).
 */
const LINGER_MS = 1_000;
/** Interval in milliseconds for checking whether connections are still open. */
const LOOK_MS = 50;
/**
 * Limits of connections. An API server sends one request per connection at a time, and the few API servers may share
 * one address (a proxy, a tunnel). A new connection takes the place of an idle one, so the numbers only limit memory:
 * 50 kB each.
 */
const LIMITS: ConnectionLimits = {
  most: 384,
  ofAddress: 128,
  // Time to receive the body, to answer, and to send.
  exchangeWithinMs: ARRIVE_WITHIN_MS + ANSWER_WITHIN_MS + 5_500,
};
/**
 * Memory for all bodies being answered, in bytes, beyond the free part of each. If smaller, two of the largest requests
 * could not be answered at the same time. If larger, hostile requests would take the memory that caches need.
 */
const MAX_HELD_BYTES = 32 * 1024 * 1024;

/**
 * Serves webhooks over HTTPS. Until a certificate is set, which may happen at any time, every handshake fails.
 * @param port 0 lets the system choose
 * @throws the system's error when the port is taken
 */
export async function serveWebhooks(options: {
  readonly port: number;
  readonly webhooks: readonly Webhook[];
  readonly log: Log;
  /** Called once per request of a webhook. @param outcome the HTTP status in digits */
  readonly observe: (path: string, outcome: string) => void;
  /**
   * Memory for all bodies at the same time, beyond the free part of each, in bytes. Default: {@link MAX_HELD_BYTES}.
   */
  readonly maxHeldBytes?: number;
  /** Time for which an idle connection is kept, in milliseconds. Default: {@link KEEP_ALIVE_MS}. */
  readonly keepAliveMs?: number;
}): Promise<WebhookServer> {
  const service = { ...options, budget: new BodyBudget(options.maxHeldBytes ?? MAX_HELD_BYTES), isLeaving: false };
  const times = { handshakeTimeout: ARRIVE_WITHIN_MS, connectionsCheckingInterval: CHECK_MS };
  const server = createServer(times);
  answerWithin(LIMITS, server, (request, response) => void respond(service, request, response));
  // Node's HTTP server does not track connections with an unfinished handshake.
  const open = new Set<Duplex>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.requestTimeout = ARRIVE_WITHIN_MS;
  server.headersTimeout = ARRIVE_WITHIN_MS;
  server.keepAliveTimeout = options.keepAliveMs ?? KEEP_ALIVE_MS;
  server.timeout = server.keepAliveTimeout; // for connections without a first request
  server.on("clientError", (error, socket) => {
    if (!isUnasked(error, socket)) refuse(error, socket);
  });
  server.on("tlsClientError", (error) => options.log.debug({ error: error.message }, "a TLS handshake failed"));
  const port = await listen(server, options.port);
  server.on("error", (error) => options.log.error({ error: error.message }, "the webhook server failed"));
  return {
    port,
    use: ({ certificate, key }) => server.setSecureContext({ cert: certificate, key }),
    close: () => {
      service.isLeaving = true;
      return closed(server, open);
    },
  };
}

/**
 * Whether the connection only timed out before its first request. The API server opens a connection for a request, may
 * then use a second one that became idle, and keeps the new one. Node applies no further timeout to a connection that
 * is not closed now.
 */
function isUnasked(error: NodeJS.ErrnoException, socket: Duplex): boolean {
  return error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket instanceof Socket && socket.bytesRead === 0;
}

/** Closes a connection that does not speak HTTP, or that is too slow. */
function refuse({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  const status = code === "ERR_HTTP_REQUEST_TIMEOUT" ? "408 Request Timeout" : "400 Bad Request";
  if (socket.writable) socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  socket.destroy();
}

interface Service {
  readonly webhooks: readonly Webhook[];
  readonly log: Log;
  readonly observe: (path: string, outcome: string) => void;
  readonly budget: BodyBudget;
  /** Whether the server is about to end; may change while an answer is prepared. */
  readonly isLeaving: boolean;
}

async function respond(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { webhooks, log, observe, budget } = service;
  const path = (request.url ?? "/").split("?")[0] ?? "/";
  const webhook = webhooks.find((each) => each.path === path);
  if (webhook === undefined) return send(response, notFound(request, path, webhooks), service.isLeaving);
  const held = budget.open(addressOf(request));
  response.once("close", () => held.release()); // also when the client has disconnected before the answer
  const answer = await answered(webhook, held, request, response).catch((thrown: unknown) => {
    const error = asOperatorError(thrown);
    log.error({ code: error.code, error: error.message }, `the webhook ${path} failed`);
    return text(500, `the operator failed to answer: ${error.message}`);
  });
  observe(path, String(answer.status));
  send(response, answer, service.isLeaving);
}

/** Longest text of an answer in characters: it may quote its input, which may be megabytes long. */
const MAX_SENTENCE_LENGTH = 2_000;

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
}

async function answered(
  webhook: Webhook,
  held: HeldBody,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Answer> {
  if (request.method !== "POST") return text(405, `method ${request.method} is not supported; use POST`);
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    return text(415, `content-type is "${type.slice(0, 100)}"; it must be application/json`);
  }
  const over = new AbortController();
  const giveUp = (): void => over.abort();
  const timer = setTimeout(giveUp, ANSWER_WITHIN_MS);
  response.once("close", giveUp); // the client has disconnected
  try {
    const body = await readBody(request, webhook.limits, held);
    return await answerTo(webhook, body, addressOf(request), over.signal);
  } catch (thrown) {
    if (!(thrown instanceof RefusedBody)) throw thrown;
    const { status, message, head } = thrown;
    const refusal = head !== "" && "refuse" in webhook ? webhook.refuse?.(head, message) : undefined;
    return refusal === undefined ? text(status, message) : json(JSON.stringify(refusal));
  } finally {
    clearTimeout(timer);
  }
}

async function answerTo(
  webhook: Webhook,
  body: Uint8Array<ArrayBuffer>,
  from: string,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    const { promise: late, reject } = Promise.withResolvers<never>();
    late.catch(() => undefined); // unhandled when the webhook has already answered
    signal.throwIfAborted(); // receiving the body took all the time
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if ("answerBytes" in webhook) return json(await Promise.race([webhook.answerBytes(body, from, signal), late]));
    return json(JSON.stringify(await Promise.race([webhook.answer(parsed(body), signal), late])));
  } catch (thrown) {
    if (signal.aborted) return text(503, `the operator had no answer within ${ANSWER_WITHIN_MS} ms`);
    if (thrown instanceof RefusedBody) throw thrown;
    const error = asOperatorError(thrown);
    if (error.code === "InvalidSpec") return text(400, error.message);
    throw thrown;
  }
}

function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? "";
}

function json(body: string | Uint8Array): Answer {
  return { status: 200, type: "application/json", body };
}

function notFound({ method }: IncomingMessage, path: string, webhooks: readonly Webhook[]): Answer {
  if (path === "/healthz" && method === "GET") return text(200, "ok");
  return text(404, `not found; paths of this server: ${["/healthz", ...webhooks.map((each) => each.path)].join(" ")}`);
}

function text(status: number, sentence: string): Answer {
  return { status, type: "text/plain; charset=utf-8", body: `${sentence.slice(0, MAX_SENTENCE_LENGTH)}\n` };
}

function send(response: ServerResponse, { status, type, body }: Answer, isLast: boolean): void {
  // The unread rest of a refused body would be parsed as the next request.
  const connection = status >= 400 || isLast ? { connection: "close" } : {};
  response.writeHead(status, { "content-type": type, ...connection }).end(body);
}

async function closed(server: Server, open: ReadonlySet<Duplex>): Promise<void> {
  for (let ms = 0; open.size > 0 && ms < LINGER_MS; ms += LOOK_MS) await sleep(LOOK_MS);
  const late = setTimeout(() => {
    for (const socket of open) socket.destroy();
  }, ANSWER_WITHIN_MS);
  await new Promise<void>((resolve) => server.close(() => resolve()));
  clearTimeout(late);
}
