import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { asOperatorError } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import { type BodyBudget, RefusedBody, readBody } from "./body.ts";

// Who calls?
//   The API server, and whoever else reaches the port: a webhook cannot tell them apart. So a request gets nothing but an answer to
//   its own question, and cannot take more memory or time than is set here.
// What if we fail?
//   The API server is told so by the status and in words. What it does then is the webhook's `failurePolicy`.

/** One webhook: a path and what is answered there. */
export interface Webhook {
  /** Such as `/admission/etcdclusters`. */
  readonly path: string;
  /** Longest body that makes sense here, in bytes. */
  readonly maxBytes: number;
  /**
   * Answers a body that was JSON.
   * @param signal aborts when the time for the answer is over
   * @throws OperatorError InvalidSpec when the body is not what this webhook is asked with; whatever else is thrown is a failure of ours
   */
  readonly answer: (body: unknown, signal: AbortSignal) => Promise<object>;
}

/** What the server shows of itself in TLS: both in PEM. */
export interface ServingCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface WebhookServer {
  /** Where it listens. */
  readonly port: number;
  /** Shows this certificate from the next connection on; those that are open stay. */
  use(serving: ServingCertificate): void;
  /**
   * Answers what has been asked, has whoever keeps a connection ask elsewhere, and ends. Takes {@link LINGER_MS} where one is kept, and
   * {@link ANSWER_WITHIN_MS} more at the most where an answer or a handshake is awaited.
   */
  close(): Promise<void>;
}

/** Below the `timeoutSeconds` of every webhook of ours, so that the API server hears why, in milliseconds. */
const ANSWER_WITHIN_MS = 4_500;
/** Time for a handshake, and from a request's first byte to its last, in milliseconds. What has come of its body is held until then. */
const ARRIVE_WITHIN_MS = 5_000;
/** Between looks at who takes longer, in milliseconds. Node looks every half minute otherwise. */
const CHECK_MS = 1_000;
/** Longer than the API server keeps a connection that it does not use, or has yet to use (90 s): it never asks on one that we are closing. */
const KEEP_ALIVE_MS = 120_000;
/**
 * So much longer it is listened to who keeps a connection, in milliseconds: the answer to the next question says that the connection
 * ends with it. Who is closed on while a question is on its way has none answered, and an edit goes unchecked (`failurePolicy: Ignore`).
 */
const LINGER_MS = 1_000;
/** Between looks whether somebody still keeps a connection, in milliseconds. */
const LOOK_MS = 50;
/** An API server asks one question per connection at a time, and there are few API servers. */
const MAX_CONNECTIONS = 256;
/** Bodies that are held at the same time, in bytes; JSON takes several times as much when it is read. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;

/**
 * Serves webhooks over HTTPS. Without a certificate, which comes later and may change at any time, every handshake fails.
 * @param port 0 lets the system choose
 * @throws the system's error when the port is taken
 */
export async function serveWebhooks(options: {
  readonly port: number;
  readonly webhooks: readonly Webhook[];
  readonly log: Log;
  /** Called once per request of a webhook. @param outcome the status that was answered, in digits */
  readonly observe: (path: string, outcome: string) => void;
  /** What all bodies that are held at the same time may take, in bytes. Default: {@link MAX_HELD_BYTES}. */
  readonly maxHeldBytes?: number;
  /** How long a connection is kept on which nothing is asked, in milliseconds. Default: {@link KEEP_ALIVE_MS}. */
  readonly keepAliveMs?: number;
}): Promise<WebhookServer> {
  const service = { ...options, budget: { leftBytes: options.maxHeldBytes ?? MAX_HELD_BYTES }, isLeaving: false };
  const times = { handshakeTimeout: ARRIVE_WITHIN_MS, connectionsCheckingInterval: CHECK_MS };
  const server = createServer(times, (request, response) => void respond(service, request, response));
  // Of its own connections a server of HTTP knows only those that have finished their handshake.
  const open = new Set<Duplex>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.requestTimeout = ARRIVE_WITHIN_MS;
  server.headersTimeout = ARRIVE_WITHIN_MS;
  server.keepAliveTimeout = options.keepAliveMs ?? KEEP_ALIVE_MS;
  server.timeout = server.keepAliveTimeout; // for who has a connection and has asked nothing yet
  server.maxConnections = MAX_CONNECTIONS;
  server.on("clientError", (error, socket) => {
    if (!isUnasked(error, socket)) refuse(error, socket);
  });
  server.on("tlsClientError", (error) => options.log.debug({ error: error.message }, "a TLS handshake failed"));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, resolve);
  });
  server.on("error", (error) => options.log.error({ error: error.message }, "the webhook server has a failure"));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    use: ({ certificate, key }) => server.setSecureContext({ cert: certificate, key }),
    close: () => {
      service.isLeaving = true;
      return closed(server, open);
    },
  };
}

/**
 * Whether it was only too long until something was asked on the connection: the API server opens one for a question, may ask it on another one
 * that has become free meanwhile, and keeps the new one. Node forgets the time of who is not ended for it.
 */
function isUnasked(error: NodeJS.ErrnoException, socket: Duplex): boolean {
  return error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket instanceof Socket && socket.bytesRead === 0;
}

/** Ends what is no HTTP, or takes too long to arrive. */
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
  /** Whether it is about to end; that may begin while an answer is found. */
  readonly isLeaving: boolean;
}

async function respond(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { webhooks, log, observe, budget } = service;
  const path = (request.url ?? "/").split("?")[0] ?? "/";
  const webhook = webhooks.find((each) => each.path === path);
  if (webhook === undefined) return send(response, notFound(request, path, webhooks), service.isLeaving);
  const answer = await answered(webhook, budget, request, response).catch((thrown: unknown) => {
    const error = asOperatorError(thrown);
    log.error({ code: error.code, error: error.message }, `the webhook ${path} failed`);
    return text(500, `the operator failed to answer: ${error.message}`);
  });
  observe(path, String(answer.status));
  send(response, answer, service.isLeaving);
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

async function answered(
  webhook: Webhook,
  budget: BodyBudget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Answer> {
  if (request.method !== "POST") return text(405, `${request.method} is not served here; POST is`);
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    return text(415, `content-type is "${type}"; it must be application/json`);
  }
  const over = new AbortController();
  const giveUp = (): void => over.abort();
  const timer = setTimeout(giveUp, ANSWER_WITHIN_MS);
  response.once("close", giveUp); // nobody waits for it any more
  try {
    return await readBody(request, webhook.maxBytes, budget, (body) => answerTo(webhook, body, over.signal));
  } catch (thrown) {
    if (thrown instanceof RefusedBody) return text(thrown.status, thrown.message);
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

async function answerTo(webhook: Webhook, body: string, signal: AbortSignal): Promise<Answer> {
  const question = parsed(body);
  try {
    const { promise: late, reject } = Promise.withResolvers<never>();
    late.catch(() => undefined); // when the webhook has ended already
    signal.throwIfAborted(); // the body took all the time there was
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    const answer = await Promise.race([webhook.answer(question, signal), late]);
    return { status: 200, type: "application/json", body: JSON.stringify(answer) };
  } catch (thrown) {
    const error = asOperatorError(thrown);
    if (signal.aborted) return text(503, `the operator found no answer within ${ANSWER_WITHIN_MS} ms`);
    if (error.code === "InvalidSpec") return text(400, error.message);
    throw thrown;
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new RefusedBody(400, `the body is not JSON: ${cause instanceof Error ? cause.message : cause}`);
  }
}

function notFound({ method }: IncomingMessage, path: string, webhooks: readonly Webhook[]): Answer {
  if (path === "/healthz" && method === "GET") return text(200, "ok");
  return text(404, `served here: ${["/healthz", ...webhooks.map((each) => each.path)].join(" ")}`);
}

function text(status: number, sentence: string): Answer {
  return { status, type: "text/plain; charset=utf-8", body: `${sentence}\n` };
}

function send(response: ServerResponse, { status, type, body }: Answer, isLast: boolean): void {
  // What has not been read of a body that is refused would be taken for the next request.
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
