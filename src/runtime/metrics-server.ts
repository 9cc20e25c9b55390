import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { Registry } from "prom-client";
import { answerWithin, type ConnectionLimits } from "#base/connection-limit.ts";
import { closeNow, listen } from "#base/listen.ts";
import type { Log } from "#base/log.ts";
import type { MetricsAccess } from "./metrics-access.ts";

/** Time for a handshake, and for a request to arrive, in milliseconds. */
const ARRIVE_WITHIN_MS = 5_000;
/** Longer than the usual interval between two scrapes. */
const KEEP_ALIVE_MS = 90_000;
/** Node's default interval of 30 s is too rare to close connections that exceed their deadline, in milliseconds. */
const CHECK_MS = 1_000;
/**
 * A Prometheus scrapes over one connection, and waits 10 s as a rule. If the exchange is shorter, a slow network breaks
 * scrapes; if longer, slow readers hold connections for longer.
 */
const LIMITS: ConnectionLimits = { most: 64, ofAddress: 8, exchangeWithinMs: 30_000 };

/** Names of clusters repeat in each line, so that the page shrinks to a tenth even with the fastest compression. */
export const FASTEST = { level: constants.Z_BEST_SPEED };
const compressed = promisify<string, typeof FASTEST, Buffer>(gzip);

export interface MetricsServer {
  /** The port that it listens on. */
  readonly port: number;
  /** Presents this certificate from the next connection on; both in PEM. */
  use(serving: { readonly certificate: string; readonly key: string }): void;
  close(): Promise<void>;
}

/**
 * Serves `/metrics` over HTTPS to clients that the API server authorizes. Every handshake fails until a certificate is
 * given, which may be replaced at any time.
 * @param port 0 lets the system choose
 * @throws the system's error when the port is taken
 */
export async function serveMetrics(options: {
  readonly port: number;
  readonly registry: Pick<Registry, "metrics" | "contentType">;
  readonly access: Pick<MetricsAccess, "answer">;
  readonly log: Log;
}): Promise<MetricsServer> {
  const { log } = options;
  const times = { handshakeTimeout: ARRIVE_WITHIN_MS, connectionsCheckingInterval: CHECK_MS };
  const server = createServer(times);
  answerWithin(LIMITS, server, (request, response) => {
    respond(options, request, response).catch((thrown: unknown) => {
      log.error({ error: `${thrown}` }, "metrics could not be served");
      response.destroy();
    });
  });
  server.requestTimeout = ARRIVE_WITHIN_MS;
  server.headersTimeout = ARRIVE_WITHIN_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on("tlsClientError", (error) => log.debug({ error: error.message }, "a TLS handshake failed"));
  const port = await listen(server, options.port);
  server.on("error", (error) => log.error({ error: error.message }, "the metrics server failed"));
  return {
    port,
    use: ({ certificate, key }) => server.setSecureContext({ cert: certificate, key }),
    close: () => closeNow(server),
  };
}

async function respond(
  { registry, access }: Parameters<typeof serveMetrics>[0],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const send = (status: number, text: string | Buffer, headers: Readonly<Record<string, string>> = {}) => {
    // An unread body of a refused request would be parsed as the next request.
    const connection = status === 200 ? {} : { connection: "close" };
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...connection, ...headers }).end(text);
  };
  if ((request.url ?? "/").split("?")[0] !== "/metrics") return send(404, "served here: /metrics\n");
  if (request.method !== "GET") return send(405, "only GET is served here\n");
  const { status, because } = await access.answer(request.headers.authorization);
  if (status !== 200) return send(status, `${because}\n`, status === 401 ? { "www-authenticate": "Bearer" } : {});
  try {
    const text = await registry.metrics();
    const headers = { "content-type": registry.contentType, vary: "accept-encoding" };
    if (!acceptsGzip(request.headers["accept-encoding"])) send(200, text, headers);
    else send(200, await compressed(text, FASTEST), { ...headers, "content-encoding": "gzip" });
  } catch (thrown) {
    send(500, `${thrown}\n`);
  }
}

/** Whether gzip is listed, without the weight 0, which refuses it. */
function acceptsGzip(encodings: string | string[] = ""): boolean {
  const [listed, weight = "1"] = /(?<=^|,)\s*gzip\s*(?:;\s*q=([\d.]+)\s*)?(?=,|$)/.exec(String(encodings)) ?? [];
  return listed !== undefined && Number(weight) > 0;
}
