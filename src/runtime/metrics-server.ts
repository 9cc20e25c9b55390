import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { Registry } from "prom-client";
import type { Log } from "#base/log.ts";
import { limitConnections } from "./connection-limit.ts";
import type { MetricsAccess } from "./metrics-access.ts";

/** Time for a handshake, and for a request to arrive, in milliseconds. */
const ARRIVE_WITHIN_MS = 5_000;
/** Longer than the usual pause between two questions of a Prometheus. */
const KEEP_ALIVE_MS = 90_000;
/** Node looks only now and then who has taken too long to ask: by itself each half minute, in milliseconds. */
const CHECK_MS = 1_000;
const MAX_CONNECTIONS = 64;
/** A Prometheus asks on one. */
const MAX_OF_ADDRESS = 8;

export interface MetricsServer {
  /** Where it listens. */
  readonly port: number;
  /** Shows this certificate from the next connection on; both in PEM. */
  use(serving: { readonly certificate: string; readonly key: string }): void;
  close(): Promise<void>;
}

/**
 * Serves `/metrics` over HTTPS, to whom the API server lets read it. Without a certificate, which comes later and may change at any time, every
 * handshake fails.
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
  const server = createServer(times, (request, response) => {
    respond(options, request, response).catch((thrown: unknown) => {
      log.error({ error: `${thrown}` }, "metrics could not be shown");
      response.destroy();
    });
  });
  server.requestTimeout = ARRIVE_WITHIN_MS;
  server.headersTimeout = ARRIVE_WITHIN_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  limitConnections(server, { most: MAX_CONNECTIONS, ofAddress: MAX_OF_ADDRESS });
  server.on("tlsClientError", (error) => log.debug({ error: error.message }, "a TLS handshake failed"));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, resolve);
  });
  server.on("error", (error) => log.error({ error: error.message }, "the server of metrics has a failure"));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    use: ({ certificate, key }) => server.setSecureContext({ cert: certificate, key }),
    close: () => closed(server),
  };
}

async function respond(
  { registry, access }: Parameters<typeof serveMetrics>[0],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const send = (status: number, text: string, headers: Readonly<Record<string, string>> = {}) => {
    // What has not been read of a request that is refused would be taken for the next one.
    const connection = status === 200 ? {} : { connection: "close" };
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...connection, ...headers }).end(text);
  };
  if ((request.url ?? "/").split("?")[0] !== "/metrics") return send(404, "served here: /metrics\n");
  if (request.method !== "GET") return send(405, "only GET is served here\n");
  const { status, because } = await access.answer(request.headers.authorization);
  if (status !== 200) return send(status, `${because}\n`, status === 401 ? { "www-authenticate": "Bearer" } : {});
  try {
    send(200, await registry.metrics(), { "content-type": registry.contentType });
  } catch (thrown) {
    send(500, `${thrown}\n`);
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
